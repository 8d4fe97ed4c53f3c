//! What handlers are called. Scenario: `event_handler_name_test`.

use super::*;

fn name_of(handler: impl EventHandler<Thing>, options: HandlerOptions) -> String {
    let registration = inline()
        .add_listener(handler, options, Vec::new(), synced())
        .unwrap();
    registration.name().to_owned()
}

#[test]
fn handler_name_is_the_types_unless_given() {
    let recorder = || Recorder(Log::default());
    let name = name_of(recorder(), HandlerOptions::new());
    assert_eq!(name, "informers_processor::test_objects::Recorder");
    let boxed: Box<dyn EventHandler<Thing>> = Box::new(recorder());
    assert_eq!(name_of(boxed, HandlerOptions::new()), name);
    let filtering = FilteringHandler::new(|_: &Thing| true, recorder());
    assert_eq!(name_of(filtering, HandlerOptions::new()), name);
    assert_eq!(
        name_of(recorder(), HandlerOptions::new().with_name("mine")),
        "mine"
    );
}

#[test]
fn handler_name_of_closures_is_where_they_were_made() {
    let line = line!() + 1;
    let name = name_of(HandlerFuncs::<Thing>::new(), HandlerOptions::new());
    assert_eq!(name, format!("closures at {}:{line}", file!()));
}

#[test]
fn handler_name_of_an_async_closure_is_its_types() {
    let registration = inline()
        .add_async_listener(
            |_: Notification<Thing>| async {},
            HandlerOptions::new(),
            Vec::new(),
            synced(),
        )
        .unwrap();
    assert!(registration.name().contains("handler_name_of_an_async"));
}
