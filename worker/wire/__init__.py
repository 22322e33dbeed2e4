"""The wire: bytes to columns and back. What an event, a prediction or a rejection looks like; no Kafka here."""
