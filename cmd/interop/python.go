package main

import (
	"bufio"
	"context"
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

//go:embed interop.py
var script []byte

// packages are what the virtual environment holds.
var packages = []string{"pyspark==4.2.0", "deltalake==1.6.6", "duckdb", "pyarrow"}

// jars are what Spark needs for Delta: group:artifact:version.
var jars = []string{"io.delta:delta-spark_4.2_2.13:4.4.0", "io.delta:delta-storage:4.4.0"}

// errAbsent wraps the reasons for which something is skipped: it cannot be had on this machine.
var errAbsent = errors.New("cannot be had")

// cacheDir is where the environment stays between runs.
func cacheDir() (string, error) {
	if d := os.Getenv("STREAMLAB_INTEROP"); d != "" {
		return d, os.MkdirAll(d, 0o755)
	}
	d, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	d = filepath.Join(d, "streamlab", "interop")
	return d, os.MkdirAll(d, 0o755)
}

// environment gives a Python that has the packages: that of STREAMLAB_PYTHON, else one of its own below dir.
func environment(ctx context.Context, dir string) (string, error) {
	if p := os.Getenv("STREAMLAB_PYTHON"); p != "" {
		return p, nil
	}
	venv := filepath.Join(dir, "venv")
	python := filepath.Join(venv, "bin", "python")
	want := strings.Join(packages, "\n")
	mark := filepath.Join(venv, "interop.packages")
	if have, err := os.ReadFile(mark); err == nil && string(have) == want {
		return python, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 4*time.Minute)
	defer cancel()
	for _, args := range [][]string{{"python3", "-m", "venv", "--clear", venv},
		append([]string{python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "2"}, packages...)} {
		if out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("%w: %s: %v: %s", errAbsent, strings.Join(args[:min(4, len(args))], " "), err, lastLine(out))
		}
	}
	return python, os.WriteFile(mark, []byte(want), 0o644)
}

func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}

// sparkJars gives the class path of Delta for Spark: files of STREAMLAB_JARS, else fetched from Maven Central
// or the mirror that MAVEN_REPOSITORY names.
func sparkJars(dir string) (string, error) {
	if d := os.Getenv("STREAMLAB_JARS"); d != "" {
		dir = d
	} else {
		dir = filepath.Join(dir, "jars")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	repository := os.Getenv("MAVEN_REPOSITORY")
	if repository == "" {
		repository = "https://repo1.maven.org/maven2"
	}
	var list []string
	for _, j := range jars {
		p := strings.Split(j, ":")
		name := p[1] + "-" + p[2] + ".jar"
		path := filepath.Join(dir, name)
		list = append(list, path)
		if _, err := os.Stat(path); err == nil {
			continue
		}
		url := strings.Join([]string{repository, strings.ReplaceAll(p[0], ".", "/"), p[1], p[2], name}, "/")
		if err := fetch(url, path); err != nil {
			return "", fmt.Errorf("%w: %s: %v", errAbsent, url, err)
		}
	}
	return strings.Join(list, ","), nil
}

// fetch downloads a file and holds it against the sum beside it.
func fetch(url, path string) error {
	body, err := get(url)
	if err != nil {
		return err
	}
	sum, err := get(url + ".sha1")
	if err != nil {
		return err
	}
	have := sha1.Sum(body)
	if fields := strings.Fields(string(sum)); len(fields) == 0 || fields[0] != hex.EncodeToString(have[:]) {
		return errors.New("the file is damaged")
	}
	if err := os.WriteFile(path+".part", body, 0o644); err != nil {
		return err
	}
	return os.Rename(path+".part", path)
}

func get(url string) ([]byte, error) {
	c := http.Client{Timeout: 2 * time.Minute}
	r, err := c.Get(url)
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		return nil, errors.New(r.Status)
	}
	return io.ReadAll(r.Body)
}

// others is the process that speaks for Spark, deltalake, DuckDB and pyarrow. One call at a time.
type others struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	log *os.File
}

// startOthers starts the process in dir; what it prints goes to a file there.
func startOthers(python, dir string) (*others, error) {
	file := filepath.Join(dir, "interop.py")
	if err := os.WriteFile(file, script, 0o644); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, "python.log"))
	if err != nil {
		return nil, err
	}
	o := &others{cmd: exec.Command(python, file), log: log}
	o.cmd.Dir = dir
	o.cmd.Env = append(os.Environ(), "PYSPARK_PYTHON="+python)
	o.cmd.Stderr = log
	if o.in, err = o.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := o.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	o.out = bufio.NewReaderSize(out, 1<<16)
	return o, o.cmd.Start()
}

// call calls a function of the script. Its error is the function's exception.
func (o *others) call(name string, args map[string]any) (json.RawMessage, error) {
	text, err := json.Marshal(map[string]any{"call": name, "args": args})
	if err != nil {
		return nil, err
	}
	if _, err := o.in.Write(append(text, '\n')); err != nil {
		return nil, fmt.Errorf("python has ended: %v", o.trouble(err))
	}
	line, err := o.out.ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("python has ended: %v", o.trouble(err))
	}
	var a struct {
		Result json.RawMessage
		Error  string
	}
	if err := json.Unmarshal(line, &a); err != nil {
		return nil, fmt.Errorf("%s: %q", err, line)
	}
	if a.Error != "" {
		return nil, errors.New(a.Error)
	}
	return a.Result, nil
}

func (o *others) trouble(err error) error {
	text, _ := os.ReadFile(o.log.Name())
	return fmt.Errorf("%w: %s", err, lastLine(text))
}

// close ends the process.
func (o *others) close() error {
	return errors.Join(o.in.Close(), o.cmd.Wait(), o.log.Close())
}
