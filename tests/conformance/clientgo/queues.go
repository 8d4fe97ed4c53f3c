package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// answer is one line of output: what one line of a trace led to.
type answer struct {
	Trace   string        `json:"trace"`
	Line    int           `json:"line"`
	Op      string        `json:"op"`
	Synced  bool          `json:"synced"`
	Work    string        `json:"work,omitempty"`
	Initial bool          `json:"initial"`
	Deltas  []deltaOutput `json:"deltas,omitempty"`
	RV      string        `json:"rv,omitempty"`
}

// deltaOutput is one delta, or one object of a ReplacedAll.
type deltaOutput struct {
	Type      string `json:"type"`
	Key       string `json:"key"`
	RV        string `json:"rv,omitempty"`
	UID       string `json:"uid,omitempty"`
	Tombstone bool   `json:"tombstone,omitempty"`
}

// operation is one line of a trace.
type operation struct {
	line int
	verb string
	rest string
}

// known is the store behind a DeltaFIFO, with an order that repeats.
type known struct {
	objects map[string]*metav1.PartialObjectMetadata
	// first is listed before all others: the key that is being processed.
	first string
}

func (k *known) ListKeys() []string {
	keys := make([]string, 0, len(k.objects))
	for key := range k.objects {
		keys = append(keys, key)
	}
	sort.Slice(keys, func(i, j int) bool {
		if (keys[i] == k.first) != (keys[j] == k.first) {
			return keys[i] == k.first
		}
		return keys[i] < keys[j]
	})
	return keys
}

func (k *known) GetByKey(key string) (any, bool, error) {
	obj, ok := k.objects[key]
	if !ok {
		return nil, false, nil
	}
	return obj, true, nil
}

// apply does to the store what the process loop of an informer does.
func (k *known) apply(delta cache.Delta) {
	switch obj := delta.Object.(type) {
	case cache.DeletedFinalStateUnknown:
		delete(k.objects, obj.Key)
	case cache.ReplacedAllInfo:
		k.objects = map[string]*metav1.PartialObjectMetadata{}
		for _, item := range obj.Objects {
			object := item.(*metav1.PartialObjectMetadata)
			k.objects[object.Name] = object
		}
	case *metav1.PartialObjectMetadata:
		if delta.Type == cache.Deleted {
			delete(k.objects, obj.Name)
		} else {
			k.objects[obj.Name] = obj
		}
	}
}

// player plays one trace.
type player struct {
	name  string
	known *known
	queue cache.Queue
	out   *json.Encoder
}

// queues plays the traces of in.
func queues(in io.Reader, out io.Writer) error {
	buffered := bufio.NewWriter(out)
	defer buffered.Flush()
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, 1<<20)
	var name string
	var operations []operation
	line := 0
	finish := func() error {
		if name == "" {
			return nil
		}
		return play(name, operations, json.NewEncoder(buffered))
	}
	for scanner.Scan() {
		text := strings.TrimSpace(scanner.Text())
		verb, rest, _ := strings.Cut(text, " ")
		line++
		switch {
		case text == "" || strings.HasPrefix(text, "#"):
		case verb == "trace":
			if err := finish(); err != nil {
				return err
			}
			name, operations, line = rest, nil, 0
		default:
			operations = append(operations, operation{line, verb, strings.TrimSpace(rest)})
		}
	}
	if err := scanner.Err(); err != nil {
		return err
	}
	return finish()
}

func play(name string, operations []operation, out *json.Encoder) error {
	p := &player{name: name, known: &known{objects: map[string]*metav1.PartialObjectMetadata{}}, out: out}
	for len(operations) > 0 {
		op := operations[0]
		if p.queue != nil && op.verb != "known" {
			break
		}
		operations = operations[1:]
		switch op.verb {
		case "known":
			for _, text := range strings.Fields(op.rest) {
				obj := object(text)
				p.known.objects[obj.Name] = obj
			}
		case "queue":
			if err := p.open(op.rest); err != nil {
				return err
			}
		default:
			return fmt.Errorf("trace %s line %d: no queue yet", name, op.line)
		}
	}
	if p.queue == nil {
		return fmt.Errorf("trace %s has no queue", name)
	}
	// A closed queue takes changes and hands out what it has, but Pop does not wait.
	p.queue.Close()
	rest, err := p.run(operations)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("trace %s line %d: done without take", name, rest[0].line)
	}
	return err
}

func (p *player) open(kind string) error {
	switch kind {
	case "delta-fifo":
		p.queue = cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{
			KnownObjects:          p.known,
			EmitDeltaTypeReplaced: true,
		})
	case "delta-fifo-alone":
		p.queue = cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{EmitDeltaTypeReplaced: true})
	case "in-order":
		p.queue = cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{
			AtomicEvents:          true,
			UnlockWhileProcessing: true,
			EmitDeltaTypeBookmark: true,
		})
	default:
		return fmt.Errorf("no such queue: %s", kind)
	}
	return nil
}

// run plays operations up to a `done`, and returns what follows it.
func (p *player) run(operations []operation) ([]operation, error) {
	for len(operations) > 0 {
		op := operations[0]
		operations = operations[1:]
		switch op.verb {
		case "done":
			return append([]operation{op}, operations...), nil
		case "pop", "batch", "take":
			rest, err := p.pop(op, operations)
			if err != nil {
				return nil, err
			}
			operations = rest
		default:
			if err := p.change(op); err != nil {
				return nil, fmt.Errorf("trace %s line %d: %w", p.name, op.line, err)
			}
			p.say(answer{Line: op.line, Op: op.verb, Synced: p.queue.HasSynced()})
		}
	}
	return nil, nil
}

func (p *player) change(op operation) error {
	switch op.verb {
	case "add":
		return p.queue.Add(object(op.rest))
	case "update":
		return p.queue.Update(object(op.rest))
	case "delete":
		return p.queue.Delete(object(op.rest))
	case "resync":
		return p.queue.Resync()
	case "bookmark":
		if queue, ok := p.queue.(*cache.RealFIFO); ok {
			return queue.Bookmark(op.rest)
		}
		return nil
	case "replace":
		version, items, ok := strings.Cut(op.rest, ":")
		if !ok {
			return errors.New("replace VERSION: ITEMS")
		}
		var list []any
		for _, text := range strings.Fields(items) {
			list = append(list, object(text))
		}
		return p.queue.Replace(list, version)
	}
	return fmt.Errorf("no such operation: %s", op.verb)
}

// pop takes out one piece of work. The operations between `take` and `done` happen
// while it is processed where the queue's lock is free then, else right after.
func (p *player) pop(op operation, operations []operation) ([]operation, error) {
	rest := operations
	during := func() error {
		if op.verb != "take" {
			return nil
		}
		after, err := p.run(rest)
		if err == nil && (len(after) == 0 || after[0].verb != "done") {
			err = fmt.Errorf("trace %s line %d: take without done", p.name, op.line)
		}
		rest = after
		return err
	}
	realFIFO, isRealFIFO := p.queue.(*cache.RealFIFO)
	var taken []cache.Delta
	process := func(deltas []cache.Delta, initial bool) error {
		taken = deltas
		said := p.describe(deltas)
		said.Line, said.Op, said.Initial = op.line, op.verb, initial
		if isRealFIFO {
			said.Synced = p.queue.HasSynced()
			p.say(said)
			if err := during(); err != nil {
				return err
			}
		} else {
			p.say(said)
		}
		for _, delta := range deltas {
			p.known.apply(delta)
		}
		return nil
	}
	single := func(obj any, initial bool) error { return process(obj.(cache.Deltas), initial) }
	var err error
	if isRealFIFO && op.verb == "batch" {
		err = realFIFO.PopBatch(process, single)
	} else {
		_, err = p.queue.Pop(single)
	}
	if errors.Is(err, cache.ErrFIFOClosed) {
		p.say(answer{Line: op.line, Op: op.verb, Work: "nothing", Synced: p.queue.HasSynced()})
		if err := during(); err != nil {
			return nil, err
		}
	} else if err != nil {
		return nil, err
	} else if !isRealFIFO {
		if key, err := cache.MetaNamespaceKeyFunc(newest(taken)); err == nil {
			p.known.first = key
		}
		if err := during(); err != nil {
			return nil, err
		}
		p.known.first = ""
	}
	if op.verb == "take" {
		p.say(answer{Line: rest[0].line, Op: "done", Synced: p.queue.HasSynced()})
		rest = rest[1:]
	} else {
		p.say(answer{Line: op.line, Op: "processed", Synced: p.queue.HasSynced()})
	}
	return rest, nil
}

// newest is the newest object that deltas carry.
func newest(deltas []cache.Delta) any {
	for i := len(deltas) - 1; i >= 0; i-- {
		if unknown, ok := deltas[i].Object.(cache.DeletedFinalStateUnknown); ok {
			if unknown.Obj != nil {
				return unknown.Obj
			}
			continue
		}
		return deltas[i].Object
	}
	return nil
}

// describe says what work there is, without who asked.
func (p *player) describe(deltas []cache.Delta) answer {
	said := answer{Work: "deltas"}
	for _, delta := range deltas {
		switch obj := delta.Object.(type) {
		case cache.ReplacedAllInfo:
			said.Work, said.RV = "replaced-all", obj.ResourceVersion
			for _, item := range obj.Objects {
				said.Deltas = append(said.Deltas, describeObject("Replaced", item))
			}
		case cache.SyncAllInfo:
			said.Work = "sync-all"
		case cache.BookmarkInfo:
			said.Work, said.RV = "bookmark", obj.ResourceVersion
		case cache.DeletedFinalStateUnknown:
			output := deltaOutput{Type: string(delta.Type)}
			if obj.Obj != nil {
				output = describeObject(string(delta.Type), obj.Obj)
			}
			output.Key, output.Tombstone = obj.Key, true
			said.Deltas = append(said.Deltas, output)
		default:
			said.Deltas = append(said.Deltas, describeObject(string(delta.Type), obj))
		}
	}
	return said
}

func describeObject(kind string, obj any) deltaOutput {
	object := obj.(*metav1.PartialObjectMetadata)
	return deltaOutput{Type: kind, Key: object.Name, RV: object.ResourceVersion, UID: string(object.UID)}
}

func (p *player) say(said answer) {
	said.Trace = p.name
	if err := p.out.Encode(said); err != nil {
		panic(err)
	}
}

// object reads `a@5` or `a@5#uid`.
func object(text string) *metav1.PartialObjectMetadata {
	text, uid, ok := strings.Cut(text, "#")
	if !ok {
		uid = "u"
	}
	name, version, _ := strings.Cut(text, "@")
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: name, UID: types.UID(uid), ResourceVersion: version,
	}}
}
