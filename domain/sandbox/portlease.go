package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"strconv"
	"strings"
)

// The port leases of sandboxes: one block of ports each, below the range of ephemeral ports and above that of the agent servers.
const (
	FirstLease = 4300
	LastLease  = 4999
	LeaseBlock = 10 // ports per sandbox
	MaxDBName  = 63 // bytes; PostgreSQL truncates longer names
)

// The variables of a lease. LeasePort is the first port of the block; the others have a suffix from _1 to _9.
const (
	LeasePort  = "SANDBOX_PORT"
	LeaseDB    = "SANDBOX_DB_NAME"
	LeaseName  = "SANDBOX_NAME"
	leaseIndex = "SANDBOX_INDEX" // from 1; 0 is for the main clone
)

// LeaseEnv returns the leases of a new sandbox of project p as environment variables: ports, a number and a database name that no other sandbox of
// any project has. They are held as long as the sandbox is recorded with them. free, if not nil, is called for every port of a block. It fails with
// ErrNoPort.
func LeaseEnv(s State, p Project, name string, free func(port int) bool) (map[string]string, error) {
	if held := s.Projects[p.URL.String()].Sandboxes[SandboxKey(name)].Leases; len(held) > 0 {
		return maps.Clone(held), nil
	}
	ports, indices, names := map[int]bool{}, map[string]bool{}, map[string]bool{}
	for _, other := range s.Projects {
		for _, box := range other.Sandboxes {
			if port, err := strconv.Atoi(box.Leases[LeasePort]); err == nil {
				ports[(port-FirstLease)/LeaseBlock] = true
			}
			indices[box.Leases[leaseIndex]] = true
			names[box.Leases[LeaseDB]] = true
		}
	}
	for block := range (LastLease - FirstLease + 1) / LeaseBlock {
		first, index := FirstLease+block*LeaseBlock, strconv.Itoa(block+1)
		if ports[block] || indices[index] || !allFree(first, free) {
			continue
		}
		lease := map[string]string{LeasePort: strconv.Itoa(first), LeaseName: name, leaseIndex: index, LeaseDB: dbName(p.Name, name, names)}
		for i := 1; i < LeaseBlock; i++ {
			lease[LeasePort+"_"+strconv.Itoa(i)] = strconv.Itoa(first + i)
		}
		return lease, nil
	}
	return nil, ErrNoPort.WithMessage("no block of %d ports from %d to %d is free for another sandbox; delete a finished sandbox", LeaseBlock, FirstLease, LastLease)
}

func allFree(first int, free func(int) bool) bool {
	for port := first; free != nil && port < first+LeaseBlock; port++ {
		if !free(port) {
			return false
		}
	}
	return true
}

// dbName returns project_sandbox as a database name that needs no quotes, with a hash if it was cut or is taken.
func dbName(project, sandbox string, taken map[string]bool) string {
	whole := project + "_" + sandbox
	name := strings.Map(func(r rune) rune {
		if isASCIIWord(r) {
			return r
		}
		return '_'
	}, strings.ToLower(whole))
	if name[0] >= '0' && name[0] <= '9' {
		name = "_" + name
	}
	if len(name) <= MaxDBName && !taken[name] {
		return name
	}
	sum := sha256.Sum256([]byte(whole))
	for digits := cutHash; ; digits++ {
		end := "_" + hex.EncodeToString(sum[:])[:digits]
		longer := name[:min(len(name), MaxDBName-len(end))] + end
		if !taken[longer] || digits == MaxDBName-1 {
			return longer
		}
	}
}
