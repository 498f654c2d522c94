package foreach

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/codec"
	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

// Command makes a sink that starts a process for every partition of every micro-batch and gives it one JSON
// row a line on its standard input. The process finds the partition and the micro-batch in the environment,
// STREAMLAB_PARTITION and STREAMLAB_EPOCH; it accepts the rows by ending with 0. argv is not empty; dir is
// where it runs. What it prints goes to out; the end of what it says on its standard error stands in the
// error of a process that fails: FOREACH_COMMAND_FAILED.
func Command(argv []string, dir string, schema types.Schema, out io.Writer) func() Writer {
	return func() Writer { return &process{argv: argv, dir: dir, schema: schema, out: out} }
}

type process struct {
	argv   []string
	dir    string
	schema types.Schema
	out    io.Writer

	cmd   *exec.Cmd
	in    io.WriteCloser
	said  bytes.Buffer
	lines *codec.Writer
	buf   []byte
}

func (p *process) Open(partition int, epoch int64) (bool, error) {
	w, err := codec.NewWriter(codec.Settings{Format: "json"}, p.schema)
	if err != nil {
		return false, err
	}
	p.lines = w
	p.cmd = exec.Command(p.argv[0], p.argv[1:]...)
	p.cmd.Dir = p.dir
	p.cmd.Env = append(os.Environ(), fmt.Sprint("STREAMLAB_PARTITION=", partition), fmt.Sprint("STREAMLAB_EPOCH=", epoch))
	p.cmd.Stdout, p.cmd.Stderr = p.out, &p.said
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return false, err
	}
	if err := p.cmd.Start(); err != nil {
		return false, errs.Wrap(err, "FOREACH_COMMAND_FAILED", "command", p.argv[0], "reason", err.Error())
	}
	return true, nil
}

func (p *process) Process(rb arrow.RecordBatch) error {
	p.buf = p.lines.Append(p.buf[:0], columnar.Vectors(rb, p.schema), 0, int(rb.NumRows()))
	if _, err := p.in.Write(p.buf); err != nil {
		return p.failed(err) // it closed its input early: its exit says more
	}
	return nil
}

func (p *process) Close(err error) error {
	if p.cmd == nil || p.cmd.ProcessState != nil {
		return nil
	}
	_ = p.in.Close()
	if err != nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		return nil
	}
	return p.failed(nil)
}

// Abort ends the process before it can take the rows it has for all rows.
func (p *process) Abort(err error) error { return p.Close(err) }

// failed waits for the process and says how it failed; nil if it did not and cause is nil.
func (p *process) failed(cause error) error {
	_ = p.in.Close()
	err := p.cmd.Wait()
	if err == nil {
		err = cause
	}
	if err == nil {
		return nil
	}
	reason := err.Error()
	if s := strings.TrimSpace(p.said.String()); s != "" {
		if len(s) > 500 {
			s = "…" + s[len(s)-500:]
		}
		reason += ": " + s
	}
	return errs.Wrap(err, "FOREACH_COMMAND_FAILED", "command", p.argv[0], "reason", reason)
}
