"""Bench: what the log does in a second on this database with these settings, and what limits it."""

from ccc_django.instrumentation.bench.cleaning import clean
from ccc_django.instrumentation.bench.measuring import default_clients, measure, refuse
from ccc_django.instrumentation.bench.report import Figure, Report

__all__ = ["Figure", "Report", "clean", "default_clients", "measure", "refuse"]
