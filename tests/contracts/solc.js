#!/usr/bin/env node
// The compiler of npm behind the two questions that forge and crytic-compile ask of a native one.
const { readFileSync } = require("node:fs");
const solc = require("solc");

if (process.argv.includes("--version")) {
  console.log("solc, the solidity compiler commandline interface");
  console.log(`Version: ${solc.version().replace(".Emscripten.clang", ".Linux.g++")}`);
} else if (process.argv.includes("--standard-json")) {
  process.stdout.write(solc.compile(readFileSync(0, "utf8")));
} else {
  console.error("Only --version and --standard-json are known here.");
  process.exit(1);
}
