"""The transaction coordinator: pure machines over the records of `__transaction_state`."""
