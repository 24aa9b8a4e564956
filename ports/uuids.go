package ports

// UUIDs makes identifiers whose form a contract fixes.
type UUIDs interface {
	// NewUUID returns a UUIDv4 as lower-case text.
	NewUUID() string
}
