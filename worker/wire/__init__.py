"""The wire format of events, predictions and rejections: bytes to columns and back. No Kafka here."""
