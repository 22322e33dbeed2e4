"""Records of the snapshot topic: chunks, commit records, claims, marks."""
