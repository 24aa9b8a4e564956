package webhook

import (
	"strings"
	"unicode"
)

// Bounds of host names (RFC 1035 §2.3.4).
const (
	maxHost  = 253
	maxLabel = 63
)

// ascii returns a host name in lower-case ASCII, international labels as xn--… (RFC 3492). Nothing but case is mapped: a name with characters that a
// mapping would replace is rejected, because two programs could read it as two hosts. Addresses are returned unchanged.
func ascii(host string) (string, error) {
	host = strings.ToLower(host)
	if strings.Contains(host, ":") { // an IPv6 address, or nothing: the caller parses it
		return host, nil
	}
	labels := strings.Split(host, ".")
	for i, label := range labels {
		encoded, ok := asciiLabel(label)
		if !ok {
			return "", BlockedError(RuleHost, "", "host %q has a part that is empty, too long, or contains invalid characters", host)
		}
		labels[i] = encoded
	}
	if host = strings.Join(labels, "."); len(host) > maxHost {
		return "", BlockedError(RuleHost, "", "the host's name has %d bytes; at most %d are allowed", len(host), maxHost)
	}
	return host, nil
}

func asciiLabel(label string) (string, bool) {
	international := false
	for _, c := range label {
		switch {
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_':
		case c >= 0x80 && composed(c):
			international = true
		default:
			return "", false
		}
	}
	if international {
		label = "xn--" + punycode([]rune(label))
	}
	return label, label != "" && len(label) <= maxLabel && label[0] != '-' && label[len(label)-1] != '-'
}

// composed reports characters that no compatibility mapping replaces in host names: letters, marks and digits.
func composed(c rune) bool {
	if !unicode.IsLetter(c) && !unicode.IsMark(c) && !unicode.IsDigit(c) || unicode.ToLower(c) != c {
		return false
	}
	for _, r := range [][2]rune{
		{0x00AA, 0x00BA},   // ordinals
		{0x0300, 0x036F},   // marks of composed letters
		{0x2070, 0x218F},   // superscripts, letter-like symbols, number forms
		{0x2460, 0x24FF},   // enclosed
		{0x3130, 0x318F},   // compatibility jamo
		{0xF900, 0xFAFF},   // compatibility ideographs
		{0xFB00, 0xFDFF},   // ligatures and presentation forms
		{0xFE00, 0xFFFF},   // variation selectors, half and full width
		{0x1D400, 0x1D7FF}, // mathematical
		{0x1F100, 0x1F2FF}, // enclosed
		{0x2F800, 0x2FA1F}, // compatibility ideographs
		{0xE0000, 0xE01EF}, // tags, variation selectors
	} {
		if c >= r[0] && c <= r[1] {
			return false
		}
	}
	return true
}

// The parameters of RFC 3492 §5.
const (
	punyBase, punyMin, punyMax, punySkew = 36, 1, 26, 38
	punyDamp, punyBias, punyFirst        = 700, 72, 128
)

// punycode encodes a label (RFC 3492 §6.3). Labels are short, so nothing overflows: a long one is rejected by its length afterwards.
func punycode(label []rune) string {
	var out []byte
	for _, c := range label {
		if c < punyFirst {
			out = append(out, byte(c))
		}
	}
	basic := len(out)
	if basic > 0 {
		out = append(out, '-')
	}
	n, delta, bias := rune(punyFirst), 0, punyBias
	for done := basic; done < len(label); n++ {
		next := rune(unicode.MaxRune)
		for _, c := range label {
			if c >= n {
				next = min(next, c)
			}
		}
		delta += int(next-n) * (done + 1)
		n = next
		for _, c := range label {
			switch {
			case c < n:
				delta++
			case c == n:
				out = punyNumber(out, delta, bias)
				bias = punyAdapt(delta, done+1, done == basic)
				delta = 0
				done++
			}
		}
		delta++
	}
	return string(out)
}

// punyNumber appends delta as a number of variable base.
func punyNumber(out []byte, delta, bias int) []byte {
	digit := func(d int) byte {
		if d < 26 {
			return byte('a' + d)
		}
		return byte('0' + d - 26)
	}
	for k := punyBase; ; k += punyBase {
		threshold := min(max(k-bias, punyMin), punyMax)
		if delta < threshold {
			return append(out, digit(delta))
		}
		out = append(out, digit(threshold+(delta-threshold)%(punyBase-threshold)))
		delta = (delta - threshold) / (punyBase - threshold)
	}
}

func punyAdapt(delta, points int, first bool) int {
	if first {
		delta /= punyDamp
	} else {
		delta /= 2
	}
	delta += delta / points
	k := 0
	for ; delta > (punyBase-punyMin)*punyMax/2; k += punyBase {
		delta /= punyBase - punyMin
	}
	return k + (punyBase-punyMin+1)*delta/(delta+punySkew)
}
