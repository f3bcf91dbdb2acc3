//! What an authority makes can be read again, and names that are none are refused.

use super::*;

const DAY: Duration = Duration::from_secs(86_400);

fn request<'a>(hosts: &'a [String]) -> CertificateRequest<'a> {
    CertificateRequest {
        name: "n1",
        role: CertificateRole::Node,
        hosts,
        validity: DAY,
    }
}

#[test]
fn an_authority_that_was_read_again_goes_on_issuing() {
    let (_, kept) = Authority::new("ours", DAY).expect("made");
    let again = Authority::from_pem(&kept.certificate, &kept.key).expect("read");
    let issued = again
        .issue(&request(&["n1.example".to_owned()]))
        .expect("issued");
    assert!(
        issued
            .certificate
            .starts_with("-----BEGIN CERTIFICATE-----")
    );
    assert!(issued.key.starts_with("-----BEGIN PRIVATE KEY-----"));
    assert!(
        !format!("{issued:?}").contains("PRIVATE"),
        "a key is in a log"
    );
}

#[test]
fn what_is_no_host_is_refused() {
    let (authority, _) = Authority::new("ours", DAY).expect("made");
    for bad in ["", "a b", "-", "http://x", node_name()] {
        let hosts = [bad.to_owned()];
        assert!(
            matches!(authority.issue(&request(&hosts)), Err(TlsError::Name(_))),
            "{bad}"
        );
    }
    for good in ["n1", "n1.example", "10.0.0.1", "::1", "[::1]"] {
        assert!(
            authority.issue(&request(&[good.to_owned()])).is_ok(),
            "{good}"
        );
    }
}
