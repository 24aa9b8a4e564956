package admincmd

import (
	"fmt"
	"os"
	"os/exec"
)

// node checks the programs that run scripts of package.json.
func (d doctor) node() finding {
	f := finding{Check: "node", State: healthy, Summary: "node and npm found"}
	for _, name := range []string{"node", "npm"} {
		if _, err := exec.LookPath(name); err != nil {
			f.State, f.Summary = warning, name+" is not on the PATH, so package.json scripts cannot run"
			f.Advice = "install Node.js if you have such projects"
			break
		}
	}
	return f
}

// path checks that the command countersign is this program.
func (d doctor) path() finding {
	f := finding{Check: "command", State: healthy}
	self, err := os.Executable()
	if err != nil {
		f.State, f.Summary = skipped, "cannot find this program's file"
		return f
	}
	found, err := exec.LookPath("countersign")
	if err != nil {
		f.State, f.Summary, f.Advice = warning, "countersign is not on the PATH; this program is "+self, "add its directory to the PATH"
		return f
	}
	f.Summary = found
	one, err := os.Stat(self)
	other, err2 := os.Stat(found)
	if err == nil && err2 == nil && !os.SameFile(one, other) {
		f.State, f.Summary = warning, fmt.Sprintf("countersign on the PATH is %s, but this program is %s", found, self)
		f.Advice = "keep only one of them, so that you and the hosts use the same"
	}
	return f
}
