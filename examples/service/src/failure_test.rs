use super::*;

fn refused() -> Error {
    Error::Refused {
        text: "BUSY a queue is full".to_owned(),
    }
}

#[test]
fn status_says_what_became_of_the_request() {
    let lost = Error::UnknownOutcome {
        reason: "the connection broke".to_owned(),
    };
    let cases = [
        (Failure::Table(refused()), 503, "nothing was changed"),
        (Failure::Table(lost), 504, "look before"),
        (Failure::Table(unknown(refused())), 504, "BUSY"),
        (
            Failure::refused(StatusCode::NOT_FOUND, "no page"),
            404,
            "no page",
        ),
    ];
    for (failure, status, words) in cases {
        let told = failure.to_string();
        assert!(told.contains(words), "{told}");
        let response = failure.into_response();
        assert_eq!(response.status().as_u16(), status, "{told}");
        let may_be_sent_again = response.headers().contains_key(header::RETRY_AFTER);
        assert_eq!(may_be_sent_again, status == 503, "{told}");
    }
}
