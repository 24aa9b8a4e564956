package projectrig

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/local"
	"github.com/countersign-dev/countersign/adapters/sqlitestore"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/projectport"
)

// Elsewhere returns a Countersign process of its own that carries out one call over the same state, confirmed when it asks. It prints the
// answer when it lives to have one. It is killed when the test ends.
func (r *Rig) Elsewhere(name tool.Name, args Args) *exec.Cmd {
	r.T.Helper()
	cmd := exec.Command(os.Args[0], oneCall, r.State, r.Home, string(name), string(encode(args)))
	cmd.Stderr = os.Stderr
	require.NoError(r.T, cmd.Start())
	r.T.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

// callOnce is the program of Elsewhere: state, home, tool, arguments.
func callOnce(args []string) error {
	l, err := local.Open(configOf(args[0], args[1]))
	if err != nil {
		return err
	}
	o := call(context.Background(), l, tool.Call{Session: "elsewhere", Client: "elsewhere/1", Principal: theUser(), Tool: tool.Name(args[2]), Args: json.RawMessage(args[3])})
	if o.Err != nil {
		return o.Err
	}
	_, err = fmt.Println(string(o.Value))
	return err
}

// Catalogue returns what is stored, as it is stored, without the core. It is closed when the test ends.
func (r *Rig) Catalogue() projectport.Catalogue {
	r.T.Helper()
	store := sqlitestore.Open(filepath.Join(r.State, "countersign.db"))
	r.T.Cleanup(func() { require.NoError(r.T, store.Close()) })
	return sqlitestore.NewCatalogue(store)
}
