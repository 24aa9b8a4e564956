//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// The budgets of the whole process. Benchmarks report them; the machine decides whether a run is fair.
//
//	BenchmarkStart   process start → initialize answered      ≤ 1.3 x-floor
//	BenchmarkCall    CPU of a tools/call that reads           ≤ 1.25 x-floor
//	BenchmarkSize    stripped binary (reported), idle memory  any, ≤ 30 MB
//	BenchmarkMemory  resident memory, 10,000 : 2,000 calls    0.9 to 1.1
//
// The floor is testdata/floor: the SDK's own server with one trivial raw tool, built and run the same way.

// lab is the two programs, built as releases are, and a place for the one to work in.
type lab struct {
	b           testing.TB
	ours, floor string
	dir         string
}

func newLab(b testing.TB) *lab {
	s := &lab{b: b, dir: b.TempDir()}
	s.ours, s.floor = s.build("."), s.build("./testdata/floor")
	source := filepath.Join(s.dir, "src.go")
	require.NoError(b, os.WriteFile(source, bytes.Repeat([]byte("\tif err := verify(ctx, token); err != nil {\n"), 400), 0o644))
	return s
}

func (s *lab) build(program string) string {
	out := filepath.Join(s.dir, "bin"+strconv.Itoa(len(program)))
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", out, program)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	text, err := cmd.CombinedOutput()
	require.NoError(s.b, err, string(text))
	return out
}

// peer is a server and a client as lean as can be, so that what is measured is the server.
type peer struct {
	b   testing.TB
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func (s *lab) start(exe string, args ...string) *peer {
	cmd := exec.Command(exe, args...)
	cmd.Dir, cmd.Stderr = s.dir, os.Stderr
	cmd.Env = []string{"HOME=" + s.dir, "PATH=" + os.Getenv("PATH"), "COUNTERSIGN_HOME=" + s.home(), "COUNTERSIGN_LOG=warn"}
	in, err := cmd.StdinPipe()
	require.NoError(s.b, err)
	out, err := cmd.StdoutPipe()
	require.NoError(s.b, err)
	require.NoError(s.b, cmd.Start())
	return &peer{b: s.b, cmd: cmd, in: in, out: bufio.NewReaderSize(out, 1<<20)}
}

func (s *lab) home() string { return filepath.Join(s.dir, "state") }

func (s *lab) startOurs() *peer  { return s.start(s.ours, "mcp") }
func (s *lab) startFloor() *peer { return s.start(s.floor) }

// ask sends one line and returns the line that comes back, valid until the next.
func (p *peer) ask(line string) []byte {
	_, err := io.WriteString(p.in, line)
	require.NoError(p.b, err)
	answer, err := p.out.ReadSlice('\n')
	require.NoError(p.b, err)
	return answer
}

const (
	helloLine = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
		`"clientInfo":{"name":"bench","version":"1"}}}` + "\n"
	readyLine = `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
	listLine  = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}` + "\n"
)

func (p *peer) initialize() *peer {
	require.Contains(p.b, string(p.ask(helloLine)), "serverInfo")
	_, err := io.WriteString(p.in, readyLine)
	require.NoError(p.b, err)
	return p
}

func callLine(tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":%q,"arguments":%s}}`+"\n", tool, arguments)
}

// stop lets the process end by itself.
func (p *peer) stop() {
	require.NoError(p.b, p.in.Close())
	_, _ = io.Copy(io.Discard, p.out)
	require.NoError(p.b, p.cmd.Wait())
}

// cpu returns the processor time the process has used, all its threads together, from the kernel's clock of that process.
func (p *peer) cpu() time.Duration {
	const schedClock = 2
	var t syscall.Timespec
	_, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, uintptr(^p.cmd.Process.Pid<<3|schedClock), uintptr(unsafe.Pointer(&t)), 0)
	require.Zero(p.b, errno)
	return time.Duration(t.Nano())
}

// resident returns the resident memory of the process in bytes.
func (p *peer) resident() float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	require.NoError(p.b, err)
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	kb, err := strconv.Atoi(strings.Fields(rest)[0])
	require.NoError(p.b, err)
	return float64(kb) * 1024
}

func median(of []float64) float64 {
	slices.Sort(of)
	return of[len(of)/2]
}

// BenchmarkStart is the processor time from the start of the process to the answered handshake; the ratio of the clock's stands beside it, which what else the
// machine does sways.
func BenchmarkStart(b *testing.B) {
	s := newLab(b)
	var took, clock [2][]float64
	for range max(b.N, 41) {
		for i, start := range []func() *peer{s.startFloor, s.startOurs} {
			began := time.Now()
			p := start()
			p.ask(helloLine)
			clock[i] = append(clock[i], time.Since(began).Seconds()*1e3)
			took[i] = append(took[i], p.cpu().Seconds()*1e3)
			p.stop()
		}
	}
	require.NoDirExists(b, s.home(), "a handshake needs no state")
	floor, ours := median(took[0]), median(took[1])
	b.ReportMetric(floor, "floor-cpu-ms")
	b.ReportMetric(ours, "ours-cpu-ms")
	b.ReportMetric(ours/floor, "x-floor")
	b.ReportMetric(median(clock[1])/median(clock[0]), "wall-ratio")
	b.ReportMetric(0, "ns/op")
}

// pack makes a small pack and returns its id.
func (p *peer) pack() string {
	input := func(arguments string) (id string) {
		var reply struct {
			Result struct {
				IsError bool
				Content []struct{ Text string }
			}
		}
		answer := p.ask(callLine("input", arguments))
		require.NoError(p.b, json.Unmarshal(answer, &reply))
		require.False(p.b, reply.Result.IsError, string(answer))
		var made struct{ Payload struct{ ID string } }
		require.NoError(p.b, json.Unmarshal([]byte(reply.Result.Content[0].Text), &made))
		return made.Payload.ID
	}
	id := input(`{"action":"create","ttl_minutes":600,"title":"A small pack"}`)
	input(fmt.Sprintf(`{"action":"upsert_section","id":%q,"expected_revision":1,"section_key":"flow","section_title":"Flow"}`, id))
	input(fmt.Sprintf(`{"action":"upsert_ref","id":%q,"expected_revision":2,"section_key":"flow","ref_key":"one","path":"src.go","line_start":20,"line_end":32}`, id))
	return id
}

// BenchmarkCall is the processor time of one tools/call of a read, the audit's included, with the trivial tool of the floor as its floor.
// tight is the same with a floor that collects its garbage as seldom as the product does.
func BenchmarkCall(b *testing.B) {
	s := newLab(b)
	for _, read := range []struct{ name, tool, arguments string }{
		{"output", "output", `{"id":%q}`},
		{"input-get", "input", `{"action":"get","id":%q}`},
		{"get-policy", "get_policy", `{}`},
		{"list-toolsets", "list_toolsets", `{}`},
	} {
		b.Run(read.name, func(b *testing.B) {
			ours, floor := s.startOurs().initialize(), s.startFloor().initialize()
			tight := s.tightFloor()
			id := ours.pack()
			line := callLine(read.tool, strings.ReplaceAll(read.arguments, "%q", strconv.Quote(id)))
			trivial := callLine("trivial", `{"text":"hello"}`)
			peers := []*peer{floor, ours, tight}
			const calls, rounds = 100, 61
			var cost [3][rounds]float64
			for round := range rounds {
				for i, p := range peers { // in turn and in short turns, so that what else the machine does meets all alike
					ask := trivial
					if p == ours {
						ask = line
					}
					before := p.cpu()
					for range calls {
						if answer := p.ask(ask); bytes.Contains(answer, []byte(`"isError":true`)) || bytes.Contains(answer, []byte(`"error":`)) {
							b.Fatal(string(answer))
						}
					}
					cost[i][round] = float64((p.cpu() - before).Nanoseconds()) / 1e3 / calls
				}
			}
			const warm = 5 // rounds that do not count
			var mean [3]float64
			for i := range mean {
				for _, c := range cost[i][warm:] {
					mean[i] += c / (rounds - warm)
				}
			}
			b.ReportMetric(mean[0], "floor-cpu-µs")
			b.ReportMetric(mean[1], "ours-cpu-µs")
			b.ReportMetric(mean[1]/mean[0], "x-floor")
			b.ReportMetric(mean[1]/mean[2], "x-tight-floor")
			b.ReportMetric(0, "ns/op")
			for _, p := range peers {
				p.stop()
			}
		})
	}
}

func (s *lab) tightFloor() *peer {
	p := s.start("/usr/bin/env", "FLOOR_GOGC=400", s.floor)
	return p.initialize()
}

// BenchmarkSize is the size of the stripped binary and the resident memory of a server that was asked for its tools, in MB of 1,000,000
// bytes.
func BenchmarkSize(b *testing.B) {
	s := newLab(b)
	var resident [2][]float64
	for range max(b.N, 7) {
		for i, start := range []func() *peer{s.startFloor, s.startOurs} {
			p := start().initialize()
			p.ask(listLine)
			<-time.After(50 * time.Millisecond)
			resident[i] = append(resident[i], p.resident()/1e6)
			p.stop()
		}
	}
	require.NoDirExists(b, s.home(), "a list of the tools needs no state")
	file, err := os.Stat(s.ours)
	require.NoError(b, err)
	b.ReportMetric(float64(file.Size())/1e6, "binary-MB")
	b.ReportMetric(median(resident[0]), "floor-idle-MB")
	b.ReportMetric(median(resident[1]), "idle-MB")
	b.ReportMetric(median(resident[1])/30, "idle-budget-ratio")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkMemory is how much larger the process is after 10,000 calls than after 2,000, over reads and changes in turn.
func BenchmarkMemory(b *testing.B) {
	s := newLab(b)
	p := s.startOurs().initialize()
	id := p.pack()
	lines := []string{
		callLine("output", fmt.Sprintf(`{"id":%q}`, id)), callLine("input", fmt.Sprintf(`{"action":"get","id":%q}`, id)),
		callLine("get_policy", `{}`), callLine("input", `{"action":"list"}`), callLine("output", `{"name":"nobody"}`),
	}
	size := map[int]float64{}
	for n := 1; n <= 10000; n++ {
		p.ask(lines[n%len(lines)])
		if n == 2000 || n == 10000 {
			<-time.After(300 * time.Millisecond) // the audit's last group
			size[n] = p.resident()
		}
	}
	p.stop()
	b.ReportMetric(size[2000]/1e6, "after-2000-MB")
	b.ReportMetric(size[10000]/1e6, "after-10000-MB")
	b.ReportMetric(size[10000]/size[2000], "growth-ratio")
	b.ReportMetric(0, "ns/op")
}
