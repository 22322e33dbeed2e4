"""The worker's Kafka client on top of confluent-kafka's objects; works wherever that package does."""
