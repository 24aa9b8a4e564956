// Package owner identifies the processes that own calls, locks and records, and decides what one process can know of another. A process that cannot
// be observed is Unknown, never Dead: only what belongs to a Dead process may be recovered.
//
// Its API may change at any time.
package owner

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/fault"
)

// How an owner shows that it is alive: it renews its lease every Renewal; a lease that was not renewed for Lapse has expired.
const (
	RenewalInterval = 10 * time.Second
	LeaseTimeout    = 2 * time.Minute
)

// The errors of this package.
var (
	ErrName  = fault.New(fault.Invalid, "owner_name_invalid", "invalid owner ID: 12 characters of 0-9 and a-f; to list them, run: countersign owners")
	ErrAlive = fault.New(fault.State, "owner_alive", "this owner is still running")
)

// Place is a set of processes that can observe each other: one PID namespace of one boot of one machine. Unknown parts are empty.
type Place struct {
	Boot    string // ID of this boot of the machine, unique among machines
	Space   string // the PID namespace
	Machine string // stays the same across reboots
}

// ID identifies one process; no other process ever has the same ID.
type ID struct {
	PID   int    // within its namespace
	Start string // start time, in a system-specific unit; empty if the system does not provide it
	Place
}

// String returns the ID as "pid:start:boot:space:machine", with "-" for unknown parts.
func (id ID) String() string {
	parts := []string{strconv.Itoa(id.PID), id.Start, id.Boot, id.Space, id.Machine}
	for i, p := range parts {
		if parts[i] = plain(p); p == "" {
			parts[i] = "-"
		}
	}
	return strings.Join(parts, ":")
}

// plain returns the text without the separator of identities.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r == ':' || r <= ' ' || r == 0x7f {
			return '_'
		}
		return r
	}, s)
}

// ParseID parses the result of String, and the older form "pid:start:boot" (also separated by blanks).
func ParseID(text string) (ID, bool) {
	parts := strings.Split(text, ":")
	if len(parts) == 1 {
		parts = strings.Fields(text)
	}
	if len(parts) != 3 && len(parts) != 5 {
		return ID{}, false
	}
	for i, p := range parts {
		if p == "" || strings.ContainsAny(p, " \t\n") {
			return ID{}, false
		}
		if p == "-" || p == "unknown" {
			parts[i] = ""
		}
	}
	pid, err := strconv.Atoi(parts[0])
	if err != nil || pid <= 0 {
		return ID{}, false
	}
	id := ID{PID: pid, Start: parts[1], Place: Place{Boot: parts[2]}}
	if len(parts) == 5 {
		id.Space, id.Machine = parts[3], parts[4]
	}
	return id, true
}

// Name returns a short name, for users, of the owner with that text; it is the same on every machine.
func Name(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}

// CheckName fails with ErrName if name does not have the form that Name returns.
func CheckName(name string) error {
	if raw, err := hex.DecodeString(name); err != nil || len(raw) != 6 || strings.ToLower(name) != name {
		return ErrName.WithMessage("invalid owner ID %.40q: 12 characters of 0-9 and a-f; to list them, run: countersign owners", name)
	}
	return nil
}

// Verdict is what is known of an owner. The zero Verdict is Unknown.
type Verdict uint8

// The verdicts.
const (
	Unknown Verdict = iota // it cannot be observed from here
	Alive                  // it is running
	Dead                   // it has ended, or the user declared it ended
)

// String returns the verdict in one word.
func (v Verdict) String() string {
	switch v {
	case Alive:
		return "alive"
	case Dead:
		return "dead"
	}
	return "unknown"
}

// Dead reports whether the owner is known to have ended. Everything that ends, fails or overwrites another owner's work checks this first.
func (v Verdict) Dead() bool { return v == Dead }

// ProcessProbe asks the system about the process with that number: Alive if it is the one that started at start, Dead if that one has ended, Unknown
// if the system cannot tell.
type ProcessProbe func(pid int, start string) Verdict

// Judge returns what is known of the owner from that place. lapsed reports that its lease expired; it counts only for a process of the same place
// about which the system cannot tell.
func (id ID) Judge(here Place, look ProcessProbe, lapsed bool) Verdict {
	switch {
	case id.PID <= 0:
		return Unknown
	case id.Boot != here.Boot:
		return id.earlier(here)
	case id.Boot == "" && id.Machine != here.Machine:
		return Unknown // it may or may not be the same machine
	case id.Space == here.Space:
		v := look(id.PID, id.Start)
		if v == Unknown && lapsed {
			return Dead
		}
		return v
	case id.Space == "" && look(id.PID, id.Start) == Alive:
		return Alive
	}
	return Unknown
}

// earlier judges an owner from another boot. An ID recorded before IDs named the machine counts as one of this machine.
func (id ID) earlier(here Place) Verdict {
	old := id.Machine == "" && id.Space == ""
	if id.Boot != "" && here.Boot != "" && (old || id.Machine != "" && id.Machine == here.Machine) {
		return Dead
	}
	return Unknown
}

// SamePlace reports whether the owners with these texts are in one place, and so observe each other. Texts that are not IDs count as one place.
func SamePlace(a, b string) bool {
	one, known := ParseID(a)
	two, also := ParseID(b)
	switch {
	case !known || !also:
		return known == also || a == "" || b == ""
	case one.Boot != two.Boot:
		return one.Machine != "" && one.Machine == two.Machine && one.Space == two.Space
	}
	return one.Space == two.Space || one.Space == "" || two.Space == ""
}

// Where describes where the owner is, as seen from that place.
func (id ID) Where(here Place) string {
	where := "another machine"
	switch {
	case id.PID <= 0:
		return "an unknown machine"
	case id.Boot == here.Boot && id.Space == here.Space:
		where = "this machine"
	case id.Boot == here.Boot && id.Space != "":
		where = "another container of this machine"
	case id.Boot == here.Boot:
		where = "this machine or a container on it"
	case id.Machine != "":
		where += " (" + id.Machine + ")"
	}
	return fmt.Sprintf("%s, process %d", where, id.PID)
}

// Elsewhere describes where an owner that cannot be observed from that place is, and how the user can release what it owns.
func Elsewhere(text string, here Place) string {
	id, _ := ParseID(text)
	return fmt.Sprintf("owned by another machine or container (%s), whose processes are not visible here; stop it there; if it has certainly ended, run: countersign owners forget %s",
		id.Where(here), Name(text))
}

// Lease is the record of when an owner was last active, and whether the user declared it ended.
type Lease struct {
	Name      string    `json:"name"`
	Owner     string    `json:"owner,omitempty"` // empty for an owner that only the user declared ended
	RenewedAt time.Time `json:"renewed_at,omitzero"`
	Forgotten time.Time `json:"forgotten_at,omitzero"` // when the user declared it ended
	By        string    `json:"forgotten_by,omitempty"`
}

// Lapsed reports whether the lease expired.
func (l Lease) Lapsed(now time.Time) bool {
	return !l.RenewedAt.IsZero() && now.Sub(l.RenewedAt) > LeaseTimeout
}
