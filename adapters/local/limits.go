package local

import (
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/system"
)

// How often programs are started and addresses called on behalf of one principal (product rulings on policy). Nothing else is limited.
const (
	ExecutesPerMinute = 30
	ExecutesAtOnce    = 20
)

// rates returns the rate of a key "toolset/kind/principal".
func rates(key string) system.Rate {
	if strings.HasPrefix(key, "projects/execute/") {
		return system.Rate{Events: ExecutesPerMinute, Per: time.Minute, Burst: ExecutesAtOnce}
	}
	return system.Rate{}
}
