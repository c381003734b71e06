from tests.guard.fixtures import own_registry, spans, watch

__all__ = ["own_registry", "spans", "watch"]
