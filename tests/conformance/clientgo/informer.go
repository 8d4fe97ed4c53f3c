package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// userAgent tells our requests from those of event_log.
const userAgent = "clientgo-conformance"

// options are those of event_log, as far as client-go has them.
type options struct {
	server         string
	resource       string
	namespace      string
	labelSelector  string
	fieldSelector  string
	initial        string
	representation string
	resync         float64
	seconds        float64
}

// informer runs one shared informer and prints what its handler is told, until it is
// interrupted or its time is up.
func informer(arguments []string) error {
	var o options
	flags := flag.NewFlagSet("informer", flag.ContinueOnError)
	flags.StringVar(&o.server, "server", "", "address of an API server")
	flags.StringVar(&o.resource, "resource", "pods", "a plural of core/v1, or group/version/plural")
	flags.StringVar(&o.namespace, "namespace", "", "one namespace only")
	flags.StringVar(&o.labelSelector, "label-selector", "", "objects with these labels only")
	flags.StringVar(&o.fieldSelector, "field-selector", "", "objects with these fields only")
	flags.StringVar(&o.initial, "initial", "auto", "auto, list or watchlist")
	flags.StringVar(&o.representation, "representation", "eager", "eager, dynamic or metadata")
	flags.Float64Var(&o.resync, "resync", 0, "seconds between resyncs")
	flags.Float64Var(&o.seconds, "for", 10, "seconds to run")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	// Gates are read from the environment, once, when the first is asked for.
	if err := os.Setenv("KUBE_FEATURE_WatchListClient", fmt.Sprint(o.initial != "list")); err != nil {
		return err
	}
	shared, start, err := o.open()
	if err != nil {
		return err
	}
	log := &log{out: json.NewEncoder(os.Stdout)}
	err = shared.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		log.failure(err)
	})
	if err != nil {
		return err
	}
	registration, err := shared.AddEventHandler(log)
	if err != nil {
		return err
	}
	interrupted, release := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer release()
	ctx, cancel := context.WithTimeout(interrupted, time.Duration(o.seconds*float64(time.Second)))
	defer cancel()
	stop := make(chan struct{})
	wait := start(stop)
	select {
	case <-registration.HasSyncedChecker().Done():
		log.print(map[string]any{"op": "synced"})
		<-ctx.Done()
	case <-ctx.Done():
	}
	close(stop)
	wait()
	objects := map[string]string{}
	for _, obj := range shared.GetStore().List() {
		objects[key(obj)] = version(obj)
	}
	log.print(map[string]any{
		"op": "store", "rv": shared.LastSyncResourceVersion(), "objects": objects,
	})
	return nil
}

// open makes the informer, and says how it is started and waited for.
func (o *options) open() (cache.SharedIndexInformer, func(<-chan struct{}) func(), error) {
	gvr, err := o.gvr()
	if err != nil {
		return nil, nil, err
	}
	config := &rest.Config{Host: o.server, UserAgent: userAgent, QPS: -1}
	resync := time.Duration(o.resync * float64(time.Second))
	tweak := func(list *metav1.ListOptions) {
		list.LabelSelector = o.labelSelector
		list.FieldSelector = o.fieldSelector
	}
	switch o.representation {
	case "dynamic":
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			return nil, nil, err
		}
		factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, resync, o.namespace, tweak)
		shared := factory.ForResource(gvr).Informer()
		return shared, func(stop <-chan struct{}) func() { factory.Start(stop); return factory.Shutdown }, nil
	case "metadata":
		client, err := metadata.NewForConfig(metadata.ConfigFor(config))
		if err != nil {
			return nil, nil, err
		}
		factory := metadatainformer.NewFilteredSharedInformerFactory(client, resync, o.namespace, tweak)
		shared := factory.ForResource(gvr).Informer()
		return shared, func(stop <-chan struct{}) func() { factory.Start(stop); return factory.Shutdown }, nil
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, resync,
		informers.WithNamespace(o.namespace), informers.WithTweakListOptions(tweak))
	generic, err := factory.ForResource(gvr)
	if err != nil {
		return nil, nil, err
	}
	return generic.Informer(), func(stop <-chan struct{}) func() { factory.Start(stop); return factory.Shutdown }, nil
}

func (o *options) gvr() (schema.GroupVersionResource, error) {
	switch parts := strings.Split(o.resource, "/"); len(parts) {
	case 1:
		return schema.GroupVersionResource{Version: "v1", Resource: parts[0]}, nil
	case 3:
		return schema.GroupVersionResource{Group: parts[0], Version: parts[1], Resource: parts[2]}, nil
	}
	return schema.GroupVersionResource{}, fmt.Errorf("resource %q is neither a plural nor group/version/plural", o.resource)
}

// log is a handler that prints one JSON object a line.
type log struct {
	mu  sync.Mutex
	out *json.Encoder
}

func (l *log) print(line map[string]any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.out.Encode(line); err != nil {
		os.Exit(1)
	}
}

func (l *log) failure(err error) {
	line := map[string]any{"op": "error", "code": nil, "reason": nil, "message": err.Error()}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		line["code"] = status.Status().Code
		if reason := status.Status().Reason; reason != "" {
			line["reason"] = reason
		}
	}
	l.print(line)
}

func (l *log) OnAdd(obj any, initial bool) {
	l.print(map[string]any{"op": "add", "key": key(obj), "rv": version(obj), "initial": initial})
}

func (l *log) OnUpdate(old, obj any) {
	l.print(map[string]any{"op": "update", "key": key(obj), "old_rv": version(old), "rv": version(obj)})
}

func (l *log) OnDelete(obj any) {
	unknown := false
	line := map[string]any{"op": "delete", "key": key(obj)}
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		unknown, obj = true, tombstone.Obj
	}
	line["rv"], line["final_state_unknown"] = version(obj), unknown
	l.print(line)
}

func key(obj any) string {
	name, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj)
	if err != nil {
		return ""
	}
	return name
}

func version(obj any) string {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return ""
	}
	return accessor.GetResourceVersion()
}
