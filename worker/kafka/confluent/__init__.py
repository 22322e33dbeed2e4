"""The worker's client by way of confluent-kafka's objects: works wherever that package does."""
