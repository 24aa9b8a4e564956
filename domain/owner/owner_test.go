package owner_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/owner"
)

var here = owner.Place{Boot: "boot-1", Space: "4026531836", Machine: "m1"}

// TestVerdicts is the whole of what may be said of an owner, by where it is.
func TestVerdicts(t *testing.T) {
	const runs, gone, blind = owner.Alive, owner.Dead, owner.Unknown
	for _, c := range []struct {
		name   string
		text   string
		here   owner.Place
		sees   owner.Verdict
		lapsed bool
		want   owner.Verdict
	}{
		{"of this place, and runs", "7:100:boot-1:4026531836:m1", here, runs, false, owner.Alive},
		{"of this place, and runs, however old its lease is", "7:100:boot-1:4026531836:m1", here, runs, true, owner.Alive},
		{"of this place, and has ended", "7:100:boot-1:4026531836:m1", here, gone, false, owner.Dead},
		{"of this place, and the system does not tell", "7:100:boot-1:4026531836:m1", here, blind, false, owner.Unknown},
		{"of this place, the system does not tell, and its lease ran out", "7:100:boot-1:4026531836:m1", here, blind, true, owner.Dead},
		{"of this place, in a container that calls the machine otherwise", "7:100:boot-1:4026531836:m9", here, gone, false, owner.Dead},
		{"of another container", "7:100:boot-1:4026532999:m1", here, gone, true, owner.Unknown},
		{"of another container with the same numbers", "7:100:boot-1:4026532999:m1", here, runs, false, owner.Unknown},
		{"of another machine", "7:100:boot-2:4026531836:m2", here, gone, true, owner.Unknown},
		{"of another machine that does not say its name", "7:100:boot-2:4026531836:-", here, gone, true, owner.Unknown},
		{"of an earlier start of this machine", "7:100:boot-0:4026531836:m1", here, runs, false, owner.Dead},
		{"of a container of an earlier start of this machine", "7:100:boot-0:4026532999:m1", here, runs, false, owner.Dead},
		{"of a container of a machine of the same name", "7:100:boot-0:4026532999:m1@c1", here, runs, true, owner.Unknown},
		{"older form, and runs", "7 100 boot-1", here, runs, false, owner.Alive},
		{"older form, and cannot be seen", "7 100 boot-1", here, gone, true, owner.Unknown},
		{"older form of another start", "7 100 boot-0", here, runs, false, owner.Dead},
		{"older form of processes, and runs", "7:100:boot-1", here, runs, false, owner.Alive},
		{"older form of processes, of another start", "7:100:boot-0", here, runs, false, owner.Dead},
		{"older form where the system tells nothing", "7 - -", here, runs, true, owner.Unknown},
		{"here nothing is known", "7:100:boot-1:4026531836:m1", owner.Place{}, gone, true, owner.Unknown},
		{"without starts, on the same machine", "7:100:-:-:m1", owner.Place{Machine: "m1"}, gone, false, owner.Dead},
		{"without starts, on another machine", "7:100:-:-:m2", owner.Place{Machine: "m1"}, gone, true, owner.Unknown},
		{"a later form", "7:100:boot-0:4026531836:m1:more", here, gone, true, owner.Unknown},
		{"nothing that is known", "garbage", here, gone, true, owner.Unknown},
		{"nobody", "", here, gone, true, owner.Unknown},
	} {
		id, _ := owner.ParseID(c.text)
		asked := false
		got := id.Judge(c.here, func(pid int, start string) owner.Verdict {
			asked = true
			assert.Equal(t, 7, pid, c.name)
			assert.Contains(t, []string{"100", ""}, start, c.name)
			return c.sees
		}, c.lapsed)
		assert.Equal(t, c.want, got, c.name)
		if id.Space != "" && id.Space != c.here.Space {
			assert.False(t, asked, "%s: numbers of another namespace mean nothing here", c.name)
		}
	}
}

func TestIdentitiesAreWords(t *testing.T) {
	id := owner.ID{PID: 7, Start: "Mon_1 2", Place: owner.Place{Boot: "b:1", Machine: "a host\n"}}
	text := id.String()
	assert.Equal(t, "7:Mon_1_2:b_1:-:a_host_", text)
	back, ok := owner.ParseID(text)
	require.True(t, ok)
	assert.Equal(t, text, back.String())
	for _, bad := range []string{"", ":", "::", "x:y:z", "0:1:b", "-1:1:b", "1:2", "1:2:3:4", "1:2:3:4:5:6", "1 2", "1 2 3 4", "1: :b", "99999999999999999999:1:b"} {
		_, ok := owner.ParseID(bad)
		assert.False(t, ok, "%q", bad)
	}
}

func TestNamesOfOwners(t *testing.T) {
	name := owner.Name("7:100:boot-1:4026532999:m1")
	require.NoError(t, owner.CheckName(name))
	assert.NotEqual(t, name, owner.Name("8:100:boot-1:4026532999:m1"))
	for _, bad := range []string{"", "7:100:boot-1:4026532999:m1", name[1:], name + "0", strings.ToUpper("abcdefabcdef")} {
		require.ErrorIs(t, owner.CheckName(bad), owner.ErrName, "%q", bad)
	}
}

func TestPeopleAreToldWhereAnOwnerIs(t *testing.T) {
	for text, want := range map[string]string{
		"7:100:boot-1:4026532999:m1":  "another container of this machine, process 7",
		"7:100:boot-2:4026531836:box": "another machine (box), process 7",
		"7 100 boot-1":                "this machine or a container on it, process 7",
		"?":                           "an unknown machine",
	} {
		said := owner.Elsewhere(text, here)
		assert.Contains(t, said, "owned by another machine or container ("+want+")")
		assert.Contains(t, said, "countersign owners forget "+owner.Name(text))
	}
}

func TestWhoIsTogether(t *testing.T) {
	const me = "7:100:boot-1:4026531836:m1"
	for other, want := range map[string]bool{
		me: true, "8:5:boot-1:4026531836:m9": true, "8 5 boot-1": true, "": true, "8:5:boot-0:4026531836:m1": true,
		"7:100:boot-1:4026532999:m1": false, "7:100:boot-2:4026531836:m2": false, "7:100:boot-2:4026531836:-": false, "8 5 boot-0": false, "a later form": false,
	} {
		assert.Equal(t, want, owner.SamePlace(me, other), other)
		assert.Equal(t, want, owner.SamePlace(other, me), other)
	}
	assert.True(t, owner.SamePlace("test", "another"))
}

func TestLeasesRunOut(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	assert.False(t, owner.Lease{}.Lapsed(now), "none was ever held")
	assert.False(t, owner.Lease{RenewedAt: now.Add(-owner.LeaseTimeout)}.Lapsed(now))
	assert.True(t, owner.Lease{RenewedAt: now.Add(-owner.LeaseTimeout - 1)}.Lapsed(now))
	assert.Less(t, 3*owner.RenewalInterval, owner.LeaseTimeout, "one that is late is not gone")
}
