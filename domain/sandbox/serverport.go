package sandbox

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/countersign-dev/countersign/domain/git"
)

// PreferredPort returns the preferred port of the project's server: always the same for one URL (opencode contract §7).
func PreferredPort(url git.URL) int {
	sum := sha256.Sum256([]byte(url.String()))
	return firstPort + int(binary.BigEndian.Uint32(sum[:4])%Ports)
}

// ChoosePort returns the first port from PreferredPort(url) upwards, wrapping around at the range's end, that no other project has (taken) and a
// server could listen on (free); each port is tried at most once. It fails with ErrNoPort.
func ChoosePort(url git.URL, taken, free func(port int) bool) (int, error) {
	for i := range Ports {
		port := firstPort + (PreferredPort(url)-firstPort+i)%Ports
		if !taken(port) && free(port) {
			return port, nil
		}
	}
	return 0, ErrNoPort.WithMessage("every port from %d to %d is used; stop a project, or set OPENCODE_PORT in this one's settings", firstPort, firstPort+Ports-1)
}
