"""A shop: orders come in over Kafka and are paid."""
