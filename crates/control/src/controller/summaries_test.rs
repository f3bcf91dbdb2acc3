use super::*;
use crate::controller::testing::{first, ms};

#[test]
fn bricks_are_asked_again_once_in_the_time_between_two_renewals() {
    let (config, begun) = (ControlConfig::default(), Instant(1_000_000_000));
    let (mut summaries, mut outbox) = (LogSummaries::default(), Outbox::new(begun));
    let mut asked = |after| {
        summaries.want([first(1), first(2)]);
        summaries.ask(begun + ms(after), &config, &mut outbox);
        std::iter::from_fn(|| outbox.poll()).count()
    };
    assert_eq!([0, 299, 300, 599, 600].map(&mut asked), [2, 0, 2, 0, 2]);
}
