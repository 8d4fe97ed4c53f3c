//! Resync through the processor; `resync_schedule` has the rules.

use super::*;

/// Adds three handlers, with 0, 2 and 3 seconds, and plays an informer that checks each
/// second and repeats one object when a handler is due. Answers at which seconds each
/// handler was told.
async fn play(processor: &SharedProcessor<Thing>, seconds: u32) -> Vec<Vec<u32>> {
    let logs: Vec<Log> = [0, 2, 3]
        .map(|period| {
            let log = Log::default();
            processor
                .add_listener(
                    Recorder(log.clone()),
                    HandlerOptions::new().with_resync_period(period * SECOND),
                    Vec::new(),
                    synced(),
                )
                .unwrap();
            log
        })
        .into();
    let mut told = vec![Vec::new(); 3];
    let start = Instant::now();
    for second in 1..=seconds {
        tokio::time::sleep_until(start + second * SECOND).await;
        if processor.should_resync(Instant::now()) {
            processor.distribute(update("a", 1, 1), true);
        }
        settle().await;
        for (log, told) in logs.iter().zip(&mut told) {
            told.extend(log.take().iter().map(|_| second));
        }
    }
    told
}

// Scenario: TestListenerResyncPeriods; Y5
#[tokio::test(start_paused = true)]
async fn resync_reaches_each_handler_at_its_own_times() {
    let processor = with_resync(SECOND);
    processor.start();
    let told = play(&processor, 6).await;
    assert_eq!(told, [vec![], vec![2, 4, 6], vec![3, 6]]);
}

// Scenario: TestListenerResyncPeriodsDelayed; B65
#[tokio::test(start_paused = true)]
async fn resync_before_the_processor_starts_blocks_nobody() {
    let processor = with_resync(SECOND);
    let delayed = processor.clone();
    let start = async {
        tokio::time::sleep(2 * SECOND + SECOND / 2).await;
        delayed.start();
    };
    let (told, ()) = tokio::join!(play(&processor, 6), start);
    assert_eq!(told, [vec![], vec![3, 4, 6], vec![3, 6]]);
}

// Scenario: TestResyncCheckPeriod; Y2
#[tokio::test(start_paused = true)]
async fn resync_check_period_is_fixed_by_the_start() {
    let processor = with_resync(60 * SECOND);
    let ask = |period| {
        processor
            .add_listener(
                Recorder(Log::default()),
                HandlerOptions::new().with_resync_period(period),
                Vec::new(),
                synced(),
            )
            .unwrap()
    };
    let early = ask(5 * SECOND);
    assert_eq!(processor.resync_check_period(), 5 * SECOND);
    processor.start();
    let late = ask(2 * SECOND);
    assert_eq!(processor.resync_check_period(), 5 * SECOND);
    assert_eq!(processor.resync_period(&early), Some(5 * SECOND));
    assert_eq!(processor.resync_period(&late), Some(5 * SECOND));
    late.remove();
    assert_eq!(processor.resync_period(&late), None);
}
