// Compiles our contracts and writes what Python needs to build/<Contract>.json:
//
//     npm ci --ignore-scripts && node compile.mjs [output folder]
//
// The output is a function of the sources, the settings below and package-lock.json alone, so a
// test can compile again and compare byte for byte.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const require = createRequire(import.meta.url);
const solc = require("solc");

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "build");
const CONTRACTS = ["Treasury", "MockUSDC"];
const SETTINGS = {
  evmVersion: "cancun",
  optimizer: { enabled: true, runs: 200 },
  outputSelection: { "*": { "*": ["abi", "evm.bytecode.object", "metadata"] } },
};

function load(path) {
  const folder = path.startsWith("@") ? join(here, "node_modules") : here;
  return readFileSync(join(folder, path), "utf8");
}

function find(path) {
  try {
    return { contents: load(path) };
  } catch {
    return { error: `${path} was not found; run "npm ci --ignore-scripts" in ${here} first.` };
  }
}

function compile(name) {
  const file = `${name}.sol`;
  const input = {
    language: "Solidity",
    sources: { [file]: { content: load(file) } },
    settings: SETTINGS,
  };
  const output = JSON.parse(solc.compile(JSON.stringify(input), { import: find }));
  // Warnings about our sources stop the build too: a contract that holds money has none.
  const ours = (problem) => !problem.sourceLocation?.file.startsWith("@");
  const problems = (output.errors ?? []).filter((p) => p.severity === "error" || ours(p));
  if (problems.length > 0) {
    console.error(problems.map((problem) => problem.formattedMessage).join("\n"));
    process.exit(1);
  }
  const built = output.contracts[file][name];
  const { evmVersion, optimizer } = SETTINGS;
  return {
    contract: name,
    compiler: solc.version(),
    settings: { evmVersion, optimizer },
    sources: hashes(Object.keys(JSON.parse(built.metadata).sources)),
    abi: built.abi,
    bytecode: `0x${built.evm.bytecode.object}`,
  };
}

function hashes(paths) {
  const sha256 = (path) => createHash("sha256").update(load(path)).digest("hex");
  return Object.fromEntries(paths.sort().map((path) => [path, sha256(path)]));
}

mkdirSync(out, { recursive: true });
for (const name of CONTRACTS) {
  const text = `${JSON.stringify(compile(name), null, 1)}\n`;
  writeFileSync(join(out, `${name}.json`), text);
  console.log(`${name}.json ${text.length} bytes`);
}
