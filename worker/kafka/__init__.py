"""Access to Kafka: clients and their configuration, errors and their meaning, topics, and log readers."""
