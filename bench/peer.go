package bench

import (
	"bufio"
	"embed"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"streamlab/errs"
)

// peers are the programs that run the workloads on other engines; peers/README.md says how.
//
//go:embed peers/*.py peers/engines/*.py
var peers embed.FS

// A Peer is another engine in a Python process of its own, which stays up between runs. It belongs to one
// goroutine.
type Peer struct {
	Name, Version string
	warmUp        bool
	cmd           *exec.Cmd
	in            io.WriteCloser
	out           *bufio.Reader
	dir           string // of the programs and their scratch
	log           string
}

// Python is the interpreter that has the peers' packages: STREAMLAB_PYTHON, else python3.
func Python() string {
	if p := os.Getenv("STREAMLAB_PYTHON"); p != "" {
		return p
	}
	return "python3"
}

// OpenPeer starts an engine: duckdb, spark or another of peers/engines. Close it. Errors: PEER_NOT_INSTALLED.
func OpenPeer(name, scratch string) (*Peer, error) {
	if _, err := fs.Stat(peers, "peers/engines/"+name+".py"); err != nil || name == "base" || name == "streamlab" {
		return nil, errs.New("PEER_NOT_INSTALLED", "peer", name, "python", Python(), "reason", "there is no such peer")
	}
	dir, err := os.MkdirTemp(scratch, "bench-"+name+"-")
	if err != nil {
		return nil, err
	}
	p := &Peer{Name: name, dir: dir, log: filepath.Join(dir, "log")}
	if err := p.start(); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	r, err := p.ask(map[string]any{"do": "version"})
	switch {
	case err != nil:
	case r.NotRun != "":
		err = p.missing(r.NotRun)
	case r.Error != "":
		err = p.missing(r.Error)
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	p.Version = r.Version
	return p, nil
}

func (p *Peer) missing(reason string) error {
	return errs.New("PEER_NOT_INSTALLED", "peer", p.Name, "python", Python(), "reason", reason)
}

func (p *Peer) start() error {
	err := fs.WalkDir(peers, "peers", func(path string, e fs.DirEntry, err error) error {
		to := filepath.Join(p.dir, path)
		if err != nil {
			return err
		}
		if e.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		text, err := peers.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o644)
	})
	if err != nil {
		return err
	}
	scratch := filepath.Join(p.dir, "scratch")
	if err := os.Mkdir(scratch, 0o755); err != nil {
		return err
	}
	options, err := json.Marshal(map[string]any{"threads": workers(), "heap": "8g", "streamlab": "",
		"spark_jars": os.Getenv("SPARK_JARS"), "flink_jars": os.Getenv("FLINK_JARS"), "kafka_jars": os.Getenv("KAFKA_JARS")})
	if err != nil {
		return err
	}
	p.cmd = exec.Command(Python(), filepath.Join(p.dir, "peers", "worker.py"), p.Name, string(options), scratch)
	log, err := os.Create(p.log)
	if err != nil {
		return err
	}
	defer log.Close()
	p.cmd.Stderr = log
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	p.out = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		p.cmd = nil
		return p.missing(err.Error())
	}
	return nil
}

// reply is any answer of worker.py.
type reply struct {
	Version  string    `json:"version"`
	Configs  []string  `json:"configs"`
	WarmUp   bool      `json:"warm_up"`
	Rows     int64     `json:"rows"`
	Checksum string    `json:"checksum"`
	Seconds  float64   `json:"seconds"`
	Groups   int64     `json:"groups"`
	Latency  []float64 `json:"latency_ms"`
	NotRun   string    `json:"not_run"`
	Error    string    `json:"error"`
}

func (p *Peer) ask(command map[string]any) (reply, error) {
	var r reply
	line, err := json.Marshal(command)
	if err == nil {
		_, err = p.in.Write(append(line, '\n'))
	}
	var text string
	if err == nil {
		text, err = p.out.ReadString('\n')
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), &r)
	}
	if err != nil {
		said, _ := os.ReadFile(p.log)
		lines := strings.Split(strings.TrimSpace(string(said)), "\n")
		return r, p.missing("its process ended: " + lines[len(lines)-1])
	}
	return r, nil
}

func (p *Peer) job(do, workload, variant, config, data string, part int, more ...any) (reply, error) {
	data, err := filepath.Abs(data)
	if err != nil {
		return reply{}, err
	}
	command := map[string]any{"do": do, "job": map[string]any{"name": workload, "size": variant, "config": config, "data": data, "part": part}}
	for i := 0; i+1 < len(more); i += 2 {
		command[more[i].(string)] = more[i+1]
	}
	r, err := p.ask(command)
	if err == nil && r.Error != "" {
		err = errs.New("PEER_FAILED", "peer", p.Name, "workload", workload, "message", r.Error)
	}
	return r, err
}

// configs are the configurations that an engine runs a workload in; why says why it runs it in none.
func (p *Peer) configs(workload string) (list []string, why string, err error) {
	r, err := p.ask(map[string]any{"do": "configs", "workload": workload})
	p.warmUp = r.WarmUp
	if err == nil && r.Error != "" {
		err = errs.New("PEER_FAILED", "peer", p.Name, "workload", workload, "message", r.Error)
	}
	return r.Configs, r.NotRun, err
}

func (p *Peer) check(workload, variant, config, data string) (rows int64, sum, why string, err error) {
	r, err := p.job("check", workload, variant, config, data, 0)
	return r.Rows, r.Checksum, r.NotRun, err
}

func (p *Peer) run(workload, variant, config, data string, part int) (seconds float64, why string, err error) {
	r, err := p.job("run", workload, variant, config, data, part)
	return r.Seconds, r.NotRun, err
}

// Close ends the process and removes what it wrote.
func (p *Peer) Close() error {
	if p.cmd != nil {
		_ = p.in.Close()
		_ = p.cmd.Wait() // whatever it says, it has ended
	}
	return os.RemoveAll(p.dir)
}
