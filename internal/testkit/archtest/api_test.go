package archtest_test

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testkit/archtest"
)

// TestTheAPIIsWhatProgramsSee: a change that breaks programs changes a line, and one that they cannot see changes none.
func TestTheAPIIsWhatProgramsSee(t *testing.T) {
	listed := func(source string) string {
		m, err := archtest.Load(fstest.MapFS{"go.mod": {Data: []byte("module m\n")}, "app/app.go": {Data: []byte("package app\n" + source)}, "app/x_test.go": {Data: []byte("package app\nfunc Test() {}\n")}})
		require.NoError(t, err)
		return archtest.API(m, []string{"app"})
	}
	const source = `
// A is documented.
type A[K comparable, V any] struct {
	*B
	Name, Title string ` + "`json:\"name\"`" + `
	Do func(n int) error
	secret int
}
type B = struct{ X int }
type C interface { Get(ctx context.Context, id string) (n int, err error); hidden() }
type d struct{ X int }
func New(a, b int, more ...string) *d { return nil }
func (x *d) Run() (done bool) { return }
type e struct{}
func (x e) Never() {}
func helper() {}
const (
	One Kind = iota
	Two
	three
)
var ErrX = fault.New(1)
`
	want := `app
	const One Kind = iota
	const Two
	func New(int, int, ...string) *d
	method (*d) Run() bool
	type A embeds *B
	type A has Do func(n int) error
	type A has Name string ` + "`json:\"name\"`" + `
	type A has Title string ` + "`json:\"name\"`" + `
	type A[K comparable, V any] struct
	type B = struct
	type B has X int
	type C has Get(context.Context, string) (int, error)
	type C has methods that only its package implements
	type C interface
	var ErrX
`
	assert.Equal(t, want, listed(source))
}
