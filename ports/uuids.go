package ports

// UUIDs makes identifiers whose form a contract fixes.
type UUIDs interface {
	// NewUUID is a fresh UUIDv4 in its text form, lower case.
	NewUUID() string
}
