"""The link to Kafka: its clients and what they are told, its errors and what they mean, topics, and readers of them."""
