package plan_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/plan"
)

const root = "/w/codex"

func content(text string) deployment.Content { return deployment.Bytes([]byte(text)) }

func sum(text string) deployment.Sum { return deployment.SumOf([]byte(text)) }

func desired(name, text string) plan.Desired {
	return plan.Desired{Target: "codex", Root: root, Path: root + "/" + name, Mode: deployment.Plain, Content: content(text), Modules: []string{"skill:" + name}}
}

func owned(name, text string) plan.Owned {
	return plan.Owned{Target: "codex", Root: root, Path: root + "/" + name, Sum: sum(text), Mode: deployment.Plain, Modules: []string{"skill:" + name}}
}

func file(text string) plan.Seen {
	return plan.Seen{Kind: plan.Regular, Sum: sum(text), Size: int64(len(text)), Mode: 0o644}
}

func make1(t *testing.T, files []plan.Desired, have []plan.Owned, seen map[string]plan.Seen) plan.Plan {
	t.Helper()
	r := plan.Root{Target: "codex", Path: root}
	p, err := plan.Make(plan.Wanted{Profile: "default", Targets: []string{"codex"}, Roots: []plan.Root{r}, Files: files},
		plan.Observed{Ledgers: []plan.Ledger{{Root: r, Present: len(have) > 0, Owned: have}}, Files: seen})
	require.NoError(t, err)
	return p
}

// TestEveryWayAFileCanDiffer walks what can be wanted, what is owned and what is there.
func TestEveryWayAFileCanDiffer(t *testing.T) {
	const path = root + "/a"
	link := file("new")
	link.Kind, link.Link = plan.Link, "elsewhere"
	executable := desired("a", "new")
	executable.Mode = deployment.Executable
	for name, c := range map[string]struct {
		want *plan.Desired
		have string // what was deployed; empty is nothing
		now  *plan.Seen
		op   plan.Op
		gate plan.Gate
		says string
	}{
		"create":                         {want: new(desired("a", "new")), op: plan.Create, says: "file missing"},
		"create again":                   {want: new(desired("a", "new")), have: "new", op: plan.Create, says: "file missing"},
		"nothing":                        {want: new(desired("a", "new")), have: "new", now: new(file("new"))},
		"the same, unmanaged":            {want: new(desired("a", "new")), now: new(file("new"))},
		"the same by a link":             {want: new(desired("a", "new")), now: &link},
		"update":                         {want: new(desired("a", "new")), have: "old", now: new(file("old")), op: plan.Update, gate: plan.ManagedUpdate, says: "content differs"},
		"adopt":                          {want: new(desired("a", "new")), now: new(file("mine")), op: plan.Update, gate: plan.AdoptUpdate, says: "would overwrite unmanaged existing file"},
		"drift":                          {want: new(desired("a", "new")), have: "old", now: new(file("mine")), op: plan.Update, gate: plan.DriftedUpdate, says: "edited"},
		"drift while nothing is new":     {want: new(desired("a", "new")), have: "new", now: new(file("mine")), op: plan.Update, gate: plan.DriftedUpdate, says: "edited"},
		"drift to what is wanted":        {want: new(desired("a", "new")), have: "old", now: new(file("new"))},
		"executable":                     {want: &executable, have: "new", now: new(file("new")), op: plan.Update, gate: plan.ManagedUpdate, says: "mode"},
		"delete":                         {have: "old", now: new(file("old")), op: plan.Delete, says: "no longer managed"},
		"delete what was edited":         {have: "old", now: new(file("mine")), op: plan.Delete, gate: plan.DriftedDelete, says: "edited"},
		"delete what became a link":      {have: "new", now: &link, op: plan.Delete, gate: plan.DriftedDelete, says: "edited"},
		"nothing to delete any more":     {have: "old"},
		"a directory in place of a file": {have: "old", now: &plan.Seen{Kind: plan.Directory}},
	} {
		t.Run(name, func(t *testing.T) {
			var files []plan.Desired
			var have []plan.Owned
			seen := map[string]plan.Seen{}
			if c.want != nil {
				files = append(files, *c.want)
			}
			if c.have != "" {
				have = append(have, owned("a", c.have))
			}
			if c.now != nil {
				seen[path] = *c.now
			}
			p := make1(t, files, have, seen)
			if c.op == "" {
				assert.Empty(t, p.Changes)
				return
			}
			require.Len(t, p.Changes, 1)
			assert.Equal(t, c.op, p.Changes[0].Op)
			assert.Equal(t, c.gate, p.Changes[0].Gate)
			assert.Contains(t, p.Changes[0].Reason, c.says)
			assert.Equal(t, c.gate == plan.AdoptUpdate || c.gate == plan.DriftedUpdate || c.gate == plan.DriftedDelete, len(p.Adoptions()) == 1)
		})
	}
}

func TestADirectoryInTheWayStopsThePlan(t *testing.T) {
	for _, kind := range []plan.Kind{plan.Directory, plan.Special} {
		_, err := plan.Make(plan.Wanted{Files: []plan.Desired{desired("a", "x")}}, plan.Observed{Files: map[string]plan.Seen{root + "/a": {Kind: kind}}})
		require.ErrorIs(t, err, deployment.ErrPath)
		assert.Contains(t, err.Error(), root+"/a")
	}
}

// TestOnlyOwnEntriesAreDeleted: a file that another owner, another target or a wanted file of another target has is left alone.
func TestOnlyOwnEntriesAreDeleted(t *testing.T) {
	r, other := plan.Root{Target: "codex", Path: root}, plan.Root{Target: "opencode", Path: root}
	operator := owned("operator", "o")
	operator.Owner = plan.Bootstrap
	kept := owned("kept", "k")
	wantedByOther := desired("kept", "k")
	wantedByOther.Target = "opencode"
	p, err := plan.Make(plan.Wanted{Roots: []plan.Root{r, other}, Files: []plan.Desired{wantedByOther}}, plan.Observed{
		Ledgers: []plan.Ledger{{Root: r, Present: true, Owned: []plan.Owned{operator, kept}}, {Root: other, Present: true}},
		Files:   map[string]plan.Seen{root + "/operator": file("o"), root + "/kept": file("k")},
	})
	require.NoError(t, err)
	assert.Empty(t, p.Changes)
	for _, f := range p.Owned {
		assert.NotEqual(t, "codex", f.Target, "what codex no longer wants is no longer its")
	}
	assert.True(t, p.Stale, "manifests change")
}

// TestATargetThatIsNotAskedForKeepsItsFiles: what a neighbour in the same directory owns stays, although it is not planned for.
func TestATargetThatIsNotAskedForKeepsItsFiles(t *testing.T) {
	r, other := plan.Root{Target: "codex", Path: root}, plan.Root{Target: "opencode", Path: root}
	theirs := owned("shared", "s")
	theirs.Target = "opencode"
	p, err := plan.Make(plan.Wanted{Roots: []plan.Root{r}}, plan.Observed{
		Ledgers: []plan.Ledger{{Root: r, Present: true, Owned: []plan.Owned{owned("shared", "s")}}, {Root: other, Present: true, Owned: []plan.Owned{theirs}}},
		Files:   map[string]plan.Seen{root + "/shared": file("s")},
	})
	require.NoError(t, err)
	assert.Empty(t, p.Changes)
	assert.Empty(t, p.Owned, "codex lets go of it, and says nothing of opencode")
}

// TestWhatAllLetGoOfGoes: a file of two targets goes when both of them leave it in one plan, and its original comes back.
func TestWhatAllLetGoOfGoes(t *testing.T) {
	r, other := plan.Root{Target: "codex", Path: root}, plan.Root{Target: "opencode", Path: root}
	theirs := owned("shared", "s")
	theirs.Target = "opencode"
	o := plan.Observed{
		Ledgers: []plan.Ledger{{Root: r, Present: true, Owned: []plan.Owned{owned("shared", "s")}}, {Root: other, Present: true, Owned: []plan.Owned{theirs}}},
		Files:   map[string]plan.Seen{root + "/shared": file("s")},
	}
	p, err := plan.Make(plan.Wanted{Roots: []plan.Root{r, other}}, o)
	require.NoError(t, err)
	require.Len(t, p.Changes, 2)
	assert.Equal(t, plan.Delete, p.Changes[0].Op)
	assert.Len(t, p.Transaction(deployment.Place{}, plan.KindDeploy, deployment.Sum{}).Writes, 1, "one file is written once")
	back := p.Restore([]plan.Original{{Path: root + "/shared", Seen: file("mine"), Snapshot: "1"}}, plan.Initial, o)
	for _, c := range back.Changes {
		assert.Equal(t, sum("mine"), c.After.Sum)
	}
}

func TestPartsOfFiles(t *testing.T) {
	part := &plan.Part{Format: plan.Markdown, Block: "ours"}
	for name, c := range map[string]struct {
		managed       string // what the part was when it was written; empty is not at all
		now, ours     string // of the part
		merged, there string // of the file
		remove        bool
		op            plan.Op
		gate          plan.Gate
	}{
		"into a new file":              {ours: "new", merged: "new", op: plan.Create},
		"into a user's file":           {ours: "new", merged: "mine new", there: "mine", op: plan.Update, gate: plan.MergeUpdate},
		"over a user's own key":        {now: "his", ours: "new", merged: "new", there: "his", op: plan.Update, gate: plan.AdoptUpdate},
		"update":                       {managed: "old", now: "old", ours: "new", merged: "mine new", there: "mine old", op: plan.Update, gate: plan.ManagedUpdate},
		"update of what was edited":    {managed: "old", now: "his", ours: "new", merged: "mine new", there: "mine his", op: plan.Update, gate: plan.DriftedUpdate},
		"back in":                      {managed: "old", ours: "old", merged: "mine old", there: "mine", op: plan.Update, gate: plan.MergeUpdate},
		"nothing":                      {managed: "old", now: "old", ours: "old", merged: "mine old", there: "mine old"},
		"taken out":                    {managed: "old", now: "old", merged: "mine", there: "mine old", op: plan.Update, gate: plan.ManagedUpdate},
		"taken out though edited":      {managed: "old", now: "his", merged: "mine", there: "mine his", op: plan.Update, gate: plan.DriftedUpdate},
		"taken out with the file":      {managed: "old", now: "old", merged: "", there: "old", remove: true, op: plan.Delete},
		"taken out of nothing":         {managed: "old"},
		"taken out with an edited one": {managed: "old", now: "his", merged: "", there: "his", remove: true, op: plan.Delete, gate: plan.DriftedDelete},
	} {
		t.Run(name, func(t *testing.T) {
			d := desired("config", c.merged)
			d.Part = part
			d.Merge.Remove = c.remove
			if c.ours != "" {
				d.Merge.Ours = sum(c.ours)
			}
			if c.now != "" {
				d.Merge.Now = sum(c.now)
			}
			var have []plan.Owned
			if c.managed != "" {
				o := owned("config", c.there)
				o.Part, o.PartSum = part, sum(c.managed)
				have = append(have, o)
			}
			seen := map[string]plan.Seen{}
			if c.there != "" {
				seen[d.Path] = file(c.there)
			}
			p := make1(t, []plan.Desired{d}, have, seen)
			if c.op == "" {
				assert.Empty(t, p.Changes)
				return
			}
			require.Len(t, p.Changes, 1)
			assert.Equal(t, c.op, p.Changes[0].Op)
			assert.Equal(t, c.gate, p.Changes[0].Gate)
			assert.Equal(t, c.ours != "", len(p.Owned) == 1)
		})
	}
}

// TestTheContractsForm is the plan change of the contract's samples.
func TestTheContractsForm(t *testing.T) {
	p := make1(t, []plan.Desired{desired("AGENTS.md", "v1\n")}, nil, nil)
	text, err := json.Marshal(p.Changes)
	require.NoError(t, err)
	assert.Equal(t, `[{"after_sha256":"2d27fbdf4e8ca207afbfa388ca9172fbcc6c70e534af2476b3b704f87debadcf","before_sha256":null,"op":"create",`+
		`"path":"/w/codex/AGENTS.md","path_posix":"/w/codex/AGENTS.md","reason":"file missing","target":"codex"}]`, string(text))
	p = make1(t, []plan.Desired{desired("AGENTS.md", "v1\n")}, nil, map[string]plan.Seen{root + "/AGENTS.md": file("v0\n")})
	text, err = json.Marshal(p.Changes[0])
	require.NoError(t, err)
	assert.Contains(t, string(text), `"update_kind":"adopt_update"`)
}

// TestTheFormIsCanonical: the hand-written form of a change is the canonical JSON of what it says.
func TestTheFormIsCanonical(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := plan.Change{Target: rapid.String().Draw(t, "target"), Path: rapid.String().Draw(t, "path"), Reason: rapid.String().Draw(t, "reason"),
			Op: rapid.SampledFrom([]plan.Op{plan.Create, plan.Update, plan.Delete}).Draw(t, "op"), Mode: rapid.SampledFrom([]fs.FileMode{0o644, 0o755}).Draw(t, "mode"),
			Gate: rapid.SampledFrom([]plan.Gate{"", plan.AdoptUpdate, plan.DriftedDelete}).Draw(t, "gate"), After: content("x")}
		text, err := c.MarshalJSON()
		require.NoError(t, err)
		canonical, err := canon.Canonical(text)
		require.NoError(t, err)
		assert.Equal(t, string(canonical), string(text))
	})
}

// TestTheHashIsOverWhatIsShown: whatever a person sees of a plan, and what it was made for, is in its hash; adopt is not.
func TestTheHashIsOverWhatIsShown(t *testing.T) {
	base := func() plan.Plan {
		return plan.Plan{Binding: plan.Binding{Repo: "/r", Home: "/h"}, Profile: "default", Targets: []string{"codex"},
			Changes: []plan.Change{{Target: "codex", Op: plan.Create, Path: "/a", After: content("x"), Mode: 0o644}}}
	}
	seen := map[canon.Hash]string{base().Hash(): "nothing"}
	for name, change := range map[string]func(*plan.Plan){
		"profile":      func(p *plan.Plan) { p.Profile = "work" },
		"targets":      func(p *plan.Plan) { p.Targets = []string{"cursor"} },
		"repo":         func(p *plan.Plan) { p.Binding.Repo = "/other" },
		"home":         func(p *plan.Plan) { p.Binding.Home = "/other" },
		"user home":    func(p *plan.Plan) { p.Binding.UserHome = "/other" },
		"machine":      func(p *plan.Plan) { p.Binding.Machine = "m2" },
		"project root": func(p *plan.Plan) { p.Binding.ProjectRoot = "/p" },
		"content":      func(p *plan.Plan) { p.Changes[0].After = content("y") },
		"what is there": func(p *plan.Plan) {
			p.Changes[0].Before = file("old")
		},
		"path":  func(p *plan.Plan) { p.Changes[0].Path = "/b" },
		"op":    func(p *plan.Plan) { p.Changes[0].Op = plan.Delete },
		"mode":  func(p *plan.Plan) { p.Changes[0].Mode = 0o755 },
		"owner": func(p *plan.Plan) { p.Owner = plan.Bootstrap },
		"more":  func(p *plan.Plan) { p.Changes = append(p.Changes, p.Changes[0]) },
	} {
		p := base()
		change(&p)
		other, taken := seen[p.Hash()]
		assert.False(t, taken, "%s hashes like %s", name, other)
		seen[p.Hash()] = name
	}
	assert.Equal(t, base().Hash(), base().Hash())
}

// TestAPlanCarriedOutLeavesNothingToDo is the model: whatever was there, after the writes of a plan the next plan is empty.
func TestAPlanCarriedOutLeavesNothingToDo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{"a", "b", "c"})
		names := rapid.SliceOfNDistinct(rapid.IntRange(0, 9), 0, 6, rapid.ID[int])
		var files []plan.Desired
		for _, n := range names.Draw(t, "wanted") {
			files = append(files, desired(fmt.Sprint("f", n), text.Draw(t, "content")))
		}
		var have []plan.Owned
		for _, n := range names.Draw(t, "owned") {
			have = append(have, owned(fmt.Sprint("f", n), text.Draw(t, "deployed")))
		}
		disk := map[string]plan.Seen{}
		for _, n := range names.Draw(t, "there") {
			disk[fmt.Sprint(root, "/f", n)] = file(text.Draw(t, "now"))
		}
		foreign := map[string]plan.Seen{}
		for path, seen := range disk {
			foreign[path] = seen
		}
		r := plan.Root{Target: "codex", Path: root}
		w := plan.Wanted{Targets: []string{"codex"}, Roots: []plan.Root{r}, Files: files}
		p, err := plan.Make(w, plan.Observed{Ledgers: []plan.Ledger{{Root: r, Present: true, Owned: have}}, Files: disk})
		require.NoError(t, err)
		for _, f := range append(have, p.Owned...) {
			delete(foreign, f.Path)
		}
		for _, write := range p.Transaction(deployment.Place{}, plan.KindDeploy, deployment.Sum{}).Writes {
			assert.Equal(t, disk[write.Path], write.Before)
			assert.NotContains(t, foreign, write.Path, "nobody else's file is touched")
			if delete(disk, write.Path); write.After.Kind != plan.Absent {
				disk[write.Path] = write.After
			}
		}
		again, err := plan.Make(w, plan.Observed{Ledgers: []plan.Ledger{{Root: r, Present: true, Owned: p.Owned}}, Files: disk})
		require.NoError(t, err)
		assert.True(t, again.Empty(), "%+v", again.Changes)
	})
}

func TestTheDeepestRootIsTheBest(t *testing.T) {
	roots := []plan.Root{{Target: "vscode", Path: "/p/.github"}, {Target: "vscode", Path: "/p/.github/prompts"}, {Target: "zed", Path: "/p"}}
	for path, want := range map[string]string{"/p/.github/x": "/p/.github", "/p/.github/prompts/a.md": "/p/.github/prompts", "/p/.github/promptsx": "/p/.github"} {
		r, ok := plan.BestRoot(roots, "vscode", path, '/')
		require.True(t, ok)
		assert.Equal(t, want, r.Path, path)
	}
	_, ok := plan.BestRoot(roots, "vscode", "/p/other", '/')
	assert.False(t, ok)
	assert.True(t, plan.Below("/", "/x", '/'))
	assert.False(t, plan.Below("/a", "/ab", '/'))
}

func TestGoingBackPutsOriginalsBack(t *testing.T) {
	r := plan.Root{Target: "codex", Path: root}
	mine := plan.Original{Path: root + "/adopted", Seen: file("mine"), Snapshot: "20"}
	gone := plan.Original{Path: root + "/gone", Seen: file("gone"), Snapshot: "20"}
	early := plan.Original{Path: root + "/early", Seen: file("early"), Snapshot: "5"}
	have := []plan.Owned{owned("adopted", "theirs"), owned("made", "x"), owned("early", "y")}
	disk := map[string]plan.Seen{root + "/adopted": file("theirs"), root + "/made": file("x"), root + "/early": file("y")}
	o := plan.Observed{Ledgers: []plan.Ledger{{Root: r, Present: true, Owned: have}}, Files: disk}
	for since, want := range map[string]map[string]string{
		"10":         {"adopted": "update original restored", "made": "delete no longer managed", "early": "delete no longer managed", "gone": "create original restored"},
		plan.Initial: {"adopted": "update original restored", "made": "delete no longer managed", "early": "update original restored", "gone": "create original restored"},
		"30":         {"adopted": "delete no longer managed", "made": "delete no longer managed", "early": "delete no longer managed"},
	} {
		p, err := plan.Make(plan.Wanted{Roots: []plan.Root{r}}, o)
		require.NoError(t, err)
		got := map[string]string{}
		for _, c := range p.Restore([]plan.Original{mine, gone, early}, since, o).Changes {
			got[c.Path[len(root)+1:]] = string(c.Op) + " " + c.Reason
		}
		assert.Equal(t, want, got, since)
	}
}

func TestSnapshotsAreOrderedByNumber(t *testing.T) {
	assert.True(t, plan.Later("10", "9"))
	assert.False(t, plan.Later("9", "10"))
	assert.True(t, plan.Later("b", "a"))
}

func BenchmarkHash(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		p := plan.Plan{Targets: []string{"codex"}}
		for i := range n {
			p.Changes = append(p.Changes, plan.Change{Target: "codex", Op: plan.Create, Path: fmt.Sprint(root, "/skills/s/", i), After: content(fmt.Sprint(i)), Mode: 0o644, Reason: "file missing"})
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				p.Hash()
			}
		})
	}
}
