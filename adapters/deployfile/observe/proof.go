package observe

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"

	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/domain/deployment"
)

// SumsName is the list of a home's records with their sums, below <home>/state. Whoever works with an audit has it there as well: a record that
// differs from it was not written by an operation that is on record.
const SumsName = "sums.json"

// Kept reports whether a home's list of sums is the last that was kept in the audit.
type Kept func(ctx context.Context, home string, sums []byte) (bool, error)

// Proof tells which of a home's records were written by operations that are on record.
type Proof struct {
	all  bool
	Sums map[string]deployment.Sum // of those, by name
}

// Believed is the proof of everything, where there is no audit.
func Believed() Proof { return Proof{all: true} }

// Of reports whether a record is as it was written.
func (p Proof) Of(name string, data []byte) bool {
	return p.all || data == nil || p.OfSum(name, deployment.SumOf(data)) // what is not there says nothing
}

// OfSum is Of for a record with that sum.
func (p Proof) OfSum(name string, sum deployment.Sum) bool {
	was, known := p.Sums[name]
	return p.all || known && was == sum
}

// ReadProof is the proof of a home's records; a nil kept believes all of them.
func ReadProof(ctx context.Context, home string, state *docfile.Dir, kept Kept) (Proof, error) {
	if kept == nil {
		return Believed(), nil
	}
	data, _, err := state.Read(SumsName, MaxManifestSize)
	if errors.Is(err, fs.ErrNotExist) {
		return Proof{}, nil
	}
	if err != nil {
		return Proof{}, FileFault(err, state.File(SumsName))
	}
	known, err := kept(ctx, home, data)
	var p Proof
	if err != nil || !known || json.Unmarshal(data, &p.Sums) != nil {
		p.Sums = nil
	}
	return p, err
}

// EncodeSums writes the list down.
func EncodeSums(sums map[string]deployment.Sum) ([]byte, error) {
	data, err := json.MarshalIndent(sums, "", "  ") // sorted by name
	return append(data, '\n'), err
}
