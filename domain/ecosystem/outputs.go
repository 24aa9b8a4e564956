package ecosystem

import (
	"slices"
	"strings"
	"time"
)

// The bounds of what a provisioner says of itself.
const (
	MaxOutputs = 64
	maxKey     = 64
	maxValue   = 4096
)

// ParseOutput returns what a line of standard output says of the environment: `::amof url=http://127.0.0.1:8080` (amof contract §20.5).
func ParseOutput(line string) (key, value string, ok bool) {
	rest, ok := strings.CutPrefix(line, "::amof ")
	if !ok {
		return "", "", false
	}
	key, value, ok = strings.Cut(strings.TrimSpace(rest), "=")
	if !ok || !keyFormed(key) || len(value) > maxValue {
		return "", "", false
	}
	return key, value, true
}

func keyFormed(key string) bool {
	if key == "" || len(key) > maxKey || strings.ContainsRune("0123456789.-", rune(key[0])) {
		return false
	}
	for _, c := range key {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("_.-", c) {
			return false
		}
	}
	return true
}

// RecordOutput notes what a line says in outputs, of which there are at most MaxOutputs. In what was said of one environment by several services, a key
// that another has taken becomes <service>.<key>; a key said again by the same one takes its new value.
func RecordOutput(outputs, owners map[string]string, service, line string) bool {
	key, value, ok := ParseOutput(line)
	if !ok {
		return false
	}
	if owner, taken := owners[key]; taken && owner != service {
		key = service + "." + key
	}
	if _, known := outputs[key]; !known && len(outputs) >= MaxOutputs {
		return false
	}
	outputs[key], owners[key] = value, service
	return true
}

// The sources of an estimate.
const (
	EstimateFromHistory  = "history"
	EstimateFromManifest = "manifest"
)

// MaxDurations is how many runs an estimate is made from.
const MaxDurations = 5

// EstimateDuration returns how many seconds an action is likely to take, and how that is known: from how long it took the last times, else from the manifest,
// else not at all.
func EstimateDuration(took []time.Duration, manifest int) (seconds *int64, source *string) {
	var n int64
	var from string
	switch {
	case len(took) > 0:
		sorted := slices.Sorted(slices.Values(took[:min(len(took), MaxDurations)]))
		middle := sorted[len(sorted)/2]
		if len(sorted)%2 == 0 {
			middle = (sorted[len(sorted)/2-1] + middle) / 2
		}
		n, from = int64((middle+time.Second-1)/time.Second), EstimateFromHistory
	case manifest > 0:
		n, from = int64(manifest), EstimateFromManifest
	default:
		return nil, nil
	}
	return &n, &from
}
