"""Confirm the steps of a history: how each is known (`status`), and what measuring it again shows (`repeat`)."""

from tensorcopy.analysis.confirmation.status import (
    Status,
    explained_by_count,
    pending,
    status_in,
    status_of,
    statuses,
    without_rejected,
)

__all__ = ["Status", "explained_by_count", "pending", "status_in", "status_of", "statuses", "without_rejected"]
