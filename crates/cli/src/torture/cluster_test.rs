use super::*;
use serde_json::json;

#[test]
fn log_that_grows_beyond_what_it_holds_is_told() {
    let checked = |held: u64, live: u64| {
        let status = json!({ "bricks": [
            { "brick": 0, "log_file_bytes": 1, "log_live_bytes": 1 },
            { "brick": 1, "log_file_bytes": held, "log_live_bytes": live },
        ] });
        check_logs_of(&status).map_err(|error| error.to_string())
    };
    assert_eq!(checked(LOG_SLACK_BYTES + 20, 10), Ok(()));
    let told = checked(LOG_SLACK_BYTES + 21, 10).unwrap_err();
    assert!(
        told.starts_with("the log of brick 1 has 1073741845 bytes"),
        "{told}"
    );
    check_logs_of(&json!({})).unwrap_err();
    check_logs_of(&json!({ "bricks": [{ "brick": 0 }] })).unwrap_err();
}
