use super::*;
use std::net::Ipv4Addr;

fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
    let pairs = pairs.iter();
    pairs
        .map(|(name, value)| {
            let name = axum::http::HeaderName::from_static(name);
            (name, axum::http::HeaderValue::from_static(value))
        })
        .collect()
}

#[test]
fn only_the_page_itself_may_change_something() {
    let own = [("x-brickyard-console", "1"), ("host", "10.0.0.1:7379")];
    let with = |more: &[(&'static str, &'static str)]| headers(&[&own[..], more].concat());
    assert_eq!(foreign(&with(&[])), None);
    assert_eq!(foreign(&with(&[("origin", "http://10.0.0.1:7379")])), None);
    assert_eq!(foreign(&with(&[("sec-fetch-site", "same-origin")])), None);
    for other in [
        ("origin", "http://10.0.0.1:7380"),
        ("origin", "http://10.0.0.1"),
        ("origin", "null"),
        ("sec-fetch-site", "same-site"),
        ("sec-fetch-site", "cross-site"),
    ] {
        assert!(foreign(&with(&[other])).is_some(), "{other:?}");
    }
    assert!(foreign(&headers(&[("host", "10.0.0.1:7379")])).is_some());
}

#[test]
fn cookie_is_found_among_others() {
    let all = headers(&[("cookie", "ab=1; b=2;c=3")]);
    assert_eq!(cookie(&all, "b"), Some("2"));
    assert_eq!(cookie(&all, "c"), Some("3"));
    assert_eq!(cookie(&all, "a"), None);
}

#[test]
fn stranger_gets_no_further_than_by_the_node_port() {
    let near = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let far = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 7));
    let stranger = Stranger {
        has_token: true,
        has_client_authority: false,
        listen: near,
        from: near,
        host: "127.0.0.1:7379",
        advertised: "node1.example",
        is_tls: false,
    };
    assert_eq!(refusal(&stranger), None);
    for refused in [
        Stranger {
            has_token: false,
            ..stranger
        },
        Stranger {
            has_client_authority: true,
            ..stranger
        },
        Stranger {
            from: far,
            ..stranger
        },
        // Its name leads here, whoever made it so.
        Stranger {
            host: "evil.example:7379",
            ..stranger
        },
        Stranger {
            host: "",
            ..stranger
        },
    ] {
        assert!(refusal(&refused).is_some(), "{refused:?}");
    }
    for taken in [
        Stranger {
            listen: far,
            from: far,
            ..stranger
        },
        Stranger {
            host: "localhost:7379",
            ..stranger
        },
        Stranger {
            host: "[::1]:7379",
            ..stranger
        },
        Stranger {
            host: "Node1.example",
            ..stranger
        },
        // No other has a certificate of that name.
        Stranger {
            host: "any.example:7379",
            is_tls: true,
            ..stranger
        },
    ] {
        assert_eq!(refusal(&taken), None, "{taken:?}");
    }
}
