"""The link to Kafka: clients and their configuration, errors and what they mean, topics, and log readers."""
