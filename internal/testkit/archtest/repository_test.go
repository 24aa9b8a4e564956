package archtest_test

import (
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testkit/archtest"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
)

// TestTheRepository holds this module to its own rules.
func TestTheRepository(t *testing.T) {
	m, err := archtest.Load(root())
	require.NoError(t, err)
	for name, rule := range rules() {
		t.Run(name, func(t *testing.T) {
			assert.Empty(t, strings.Join(lines(rule(m)), "\n"))
		})
	}
	t.Run("catalogue", func(t *testing.T) {
		codes, _ := archtest.Codes(m)
		golden.Text(t, "codes", archtest.Catalogue(codes))
	})
	t.Run("api", func(t *testing.T) { golden.Text(t, "api", archtest.API(m, archtest.Public())) })
}

// TestLibcIsTheOneSQLiteWasBuiltWith: modernc.org/sqlite is generated for exactly one version of modernc.org/libc, and another one
// compiles but misbehaves.
func TestLibcIsTheOneSQLiteWasBuiltWith(t *testing.T) {
	ours, err := fs.ReadFile(root(), "go.mod")
	require.NoError(t, err)
	list := exec.Command("go", "list", "-m", "-mod=mod", "-f", "{{.GoMod}}", "modernc.org/sqlite")
	list.Dir = "../../.."
	file, err := list.Output()
	require.NoError(t, err, "go list names sqlite's own go.mod")
	theirs, err := os.ReadFile(strings.TrimSpace(string(file)))
	require.NoError(t, err)

	libc := regexp.MustCompile(`modernc\.org/libc (v\S+)`)
	require.Regexp(t, libc, string(ours))
	assert.Equal(t, libc.FindSubmatch(theirs), libc.FindSubmatch(ours))
}
