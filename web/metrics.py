"""Numbers for Prometheus. Those of the database are asked when they are read."""

from __future__ import annotations

import time
from collections.abc import Iterator

from flask import Flask, Response, g, request
from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from engine import backlog

REGISTRY = CollectorRegistry()
ProcessCollector(registry=REGISTRY)
REQUESTS = Counter(
    "muster_requests", "Requests answered.", ["method", "route", "status"], registry=REGISTRY
)
SECONDS = Histogram(
    "muster_request_seconds", "Time to answer, waiting excluded.", ["route"], registry=REGISTRY
)


class _Backlog(Collector):
    def collect(self) -> Iterator[GaugeMetricFamily]:
        for name, help_text, labels, rows in backlog.numbers():
            family = GaugeMetricFamily(f"muster_{name}", help_text, labels=labels)
            for values, number in rows:
                family.add_metric(values, number)
            yield family


REGISTRY.register(_Backlog())


def count_requests(app: Flask) -> None:
    @app.after_request
    def count(answer: Response) -> Response:
        # The rule, not the path: ids would make a series of each.
        rule = str(request.url_rule or "none")
        REQUESTS.labels(request.method, rule, answer.status_code).inc()
        began = g.get("began")
        if began is not None:
            SECONDS.labels(rule).observe(time.monotonic() - began)
        return answer
