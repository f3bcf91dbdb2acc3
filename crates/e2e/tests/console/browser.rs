//! The console in a real browser, over clusters that fail and move. `BRICKYARD_SCREENSHOTS` names a folder for pictures of it.

use crate::load::{Load, fill};
use crate::pictures::Pictures;
use brickyard_e2e::browser::Browser;
use brickyard_e2e::certificates::Certificates;
use brickyard_e2e::client::Client;
use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::deadline::{PATIENCE, try_wait_for, wait_for};
use brickyard_e2e::server::Setup;
use std::fs;
use std::time::Duration;

/// Looks of the page, two seconds each, that a picture of its charts has at least.
const POINTS: u64 = 45;

/// Waits for how the cluster is; hundreds of partitions may have to be copied until then.
fn health(browser: &Browser, text: &str) {
    let seen = try_wait_for(PATIENCE * 4, || {
        browser.text("#health").filter(|it| it.contains(text))
    });
    assert!(
        seen.is_some(),
        "the cluster is '{:?}' and not '{text}'",
        browser.text("#health")
    );
}

/// How many elements a selector finds.
fn count(browser: &Browser, selector: &str) -> u64 {
    let script = format!("return document.querySelectorAll({selector:?}).length");
    browser.run(&script).as_u64().unwrap_or(0)
}

/// Whether the page is wider than its window, so that it would have to be pushed about.
fn is_too_wide(browser: &Browser) -> bool {
    let script = "return document.documentElement.scrollWidth > innerWidth";
    browser.run(script).as_bool().unwrap_or(true)
}

#[test]
fn browser_signs_in_browses_a_key_and_watches_a_node_die_come_back_and_a_rebalance() {
    let Some(browser) = Browser::start("the console in a browser", false) else {
        return;
    };
    let pictures = Pictures::of_environment();
    let backups = tempfile::tempdir().expect("a directory");
    let backup = format!("brickyard backup create {}", backups.path().display());
    let arguments = ["--default-replicas", "2", "--recovery-bandwidth", "96KiB"];
    let arguments = [&arguments[..], &["--console-backup", &backup]].concat();
    let mut cluster = Cluster::start(&[0, 1, 2], 2, &arguments);
    cluster.create_table("orders", &["REPLICAS", "2", "PARTITIONS", "128"]);
    cluster.create_table("sessions", &["REPLICAS", "3", "PARTITIONS", "64"]);
    cluster.wait_until_whole("orders", 2);
    cluster.wait_until_whole("sessions", 3);
    fill(&cluster);
    let mut root = cluster.client(0);
    root.must(&["ACL", "SETUSER", "ann", "on", ">secret", "~*", "+@all"]);
    let load = Load::start(&cluster);
    let address = format!("http://127.0.0.1:{}", cluster.http_port(0));

    browser.wear(1280, 900, false);
    browser.open(&address);
    assert_eq!(
        browser.address(),
        format!("{address}/console/"),
        "it is led there"
    );
    health(&browser, "all copies in sync");
    wait_for("three nodes, two bricks each, and the partitions", || {
        let seen = [".node.up", ".brick", ".partition"].map(|it| count(&browser, it));
        (seen[0] == 3 && seen[1] == 6 && seen[2] > 0).then_some(())
    });
    wait_for("figures of all three nodes in the charts", || {
        (count(&browser, "#charts polygon") >= 3).then_some(())
    });

    browser.click("#map-table option[value='orders']");
    wait_for("the partitions of the table that was chosen", || {
        (count(&browser, ".partition") == 128).then_some(())
    });

    // Signing in: a wrong password, then the right one.
    browser.click("#sign");
    browser.write("#sign-in-user", "ann");
    browser.write("#sign-in-password", "wrong");
    browser.click("#sign-in-go");
    browser.wait_for("#sign-in-fault", "WRONGPASS");
    browser.write("#sign-in-password", "secret");
    browser.click("#sign-in-go");
    browser.wait_for("#who", "ann");
    browser.wait_for("#sign", "Sign out");
    let cookies = browser.run("return document.cookie");
    assert_eq!(cookies, "", "no script can read who has signed in");

    browse_keys(&browser, &cluster, &pictures);
    look_at_lists(&browser, &pictures);

    browser.click("nav a[href='#overview']");
    if pictures.are_wanted() {
        let script = "return document.querySelectorAll('#charts polyline')[0]?.points.length ?? 0";
        let patience = Duration::from_secs(POINTS * 6);
        try_wait_for(patience, || {
            (browser.run(script).as_u64()? >= POINTS).then_some(())
        });
    }
    browser.wear(960, 1150, false);
    health(&browser, "all copies in sync");
    pictures.take(&browser, "console-overview");

    // A node dies, and comes back.
    cluster.kill(2);
    health(&browser, "down");
    wait_for("the picture of a node that is gone", || {
        (count(&browser, ".node.down") == 1 && count(&browser, ".partition.under_replicated") > 0)
            .then_some(())
    });
    browser.wear(1040, 860, true);
    browser.wait_for("#motion", "missing");
    pictures.take(&browser, "console-failure");
    cluster.launch(2);
    // Where it was away for long its copies were made elsewhere, and some move back still.
    let is_whole = try_wait_for(PATIENCE * 4, || {
        let seen = ["#health.good", "#health.busy"].map(|it| count(&browser, it));
        (seen != [0, 0] && count(&browser, ".node.up") == 3).then_some(())
    });
    assert!(is_whole.is_some(), "{:?}", browser.text("#health"));

    // Another one joins while no move may begin: what it will get is told, and stays so.
    browser.wear(1280, 860, false);
    browser.click("nav a[href='#operations']");
    browser.wait_for("#rebalance button", "Pause");
    browser.click("#rebalance button");
    browser.wait_for("#confirm-title", "Begin no more moves?");
    browser.click("#confirm-yes");
    browser.wait_for("#rebalance-state", "paused");
    cluster.add();
    browser.wait_for("#plan", "copy");
    browser.click("#backup-table option[value='sessions']");
    browser.click("#backup-begin");
    browser.wait_for("#confirm-title", "Back up sessions?");
    browser.click("#confirm-yes");
    let told = browser.wait_for("#backup-last", "made");
    assert!(told.contains("of table sessions"), "{told}");
    let made = fs::read_dir(backups.path()).expect("backups");
    let made = made.filter_map(|it| it.ok()?.file_name().into_string().ok());
    assert_eq!(made.filter(|it| it.ends_with(".json")).count(), 1);
    pictures.take(&browser, "console-operations");

    // Moves go on, and it gets its share.
    browser.click("#rebalance button");
    browser.click("#confirm-yes");
    wait_for("moves that go on", || {
        browser.text("#rebalance-state").filter(|it| it != "paused")
    });
    browser.click("nav a[href='#overview']");
    wait_for("copies that move, as arrows", || {
        (count(&browser, ".node") == 4 && count(&browser, "path.move") > 0).then_some(())
    });
    pictures.take(&browser, "console-rebalance");

    // On a phone.
    browser.click("nav a[href='#overview']");
    browser.wear(360, 780, true);
    wait_for("cards below one another", || {
        (count(&browser, ".node") == 4 && !is_too_wide(&browser)).then_some(())
    });
    pictures.take(&browser, "console-phone");
    for view in ["tables", "keys", "hot", "slow", "operations"] {
        browser.click(&format!("nav a[href='#{view}']"));
        assert!(!is_too_wide(&browser), "{view} at 360 pixels");
    }
    browser.wear(1280, 900, false);

    // The node itself goes: that is said at once, with whom to ask.
    browser.click("nav a[href='#overview']");
    cluster.kill(0);
    let alarm = browser.wait_for("#alarm", "does not answer");
    assert!(alarm.contains("node"), "{alarm}");
    cluster.launch(0);
    wait_for("the alarm to end", || {
        browser.text("#alarm").filter(String::is_empty)
    });
    // Its process began anew, and nobody is signed in there.
    browser.click("nav a[href='#keys']");
    browser.wait_for("#sign", "Sign");
    drop(load);
    // A node that is gone, or has no tables yet, is no fault of the page: what is left are errors of scripts, and what the policy refused.
    let mut complaints = browser.complaints();
    complaints.retain(|it| !it.contains("Failed to load resource"));
    assert!(complaints.is_empty(), "{complaints:?}");
}

/// Finds keys, looks into some, changes one and takes another away.
fn browse_keys(browser: &Browser, cluster: &Cluster, pictures: &Pictures) {
    browser.click("nav a[href='#keys']");
    browser.wait_for("#key-table", "orders");
    browser.click("#key-table option[value='orders']");
    browser.write("#key-pattern", "order:0000*");
    browser.click("#key-form button");
    browser.wait_for("#key-note", "10 keys");
    let _ = browser.run("[...document.querySelectorAll('#key-list button')].find((it) => it.textContent === 'order:00007').click()");
    browser.wait_for("#key-view", "\"customer\": \"ann\"");
    pictures.take(browser, "console-keys");

    // What looks like markup is text.
    browser.write("#key-pattern", "<img*");
    browser.click("#key-form button");
    browser.wait_for("#key-list", "<img src=x onerror=alert(1)>");
    browser.click("#key-list button");
    browser.wait_for("#key-view", "<script>alert(1)</script>");
    assert_eq!(count(browser, "#keys img, #keys script"), 0);
    browser.write("#key-pattern", "raw*");
    browser.click("#key-form button");
    browser.wait_for("#key-list", "raw:\\xff\\x00");
    browser.click("#key-list button");
    browser.wait_for("#key-view", "00 01 fe");

    browser.write("#key-pattern", "basket*");
    browser.click("#key-form button");
    browser.wait_for("#key-list", "basket:7");
    browser.click("#key-list button");
    browser.wait_for("#key-view", "count: 12");
    browser.wait_for("#key-view", "<b>: <i>x</i>");
    browser.wait_for("#key-view dl", "Fields");
    assert_eq!(count(browser, "#keys b, #keys i"), 0);

    browser.write("#key-pattern", "greeting");
    browser.click("#key-form button");
    browser.wait_for("#key-note", "1 key");
    browser.click("#key-list button");
    browser.wait_for("#key-view pre", "hello");
    browser.wait_for("#key-view", "in 24");
    let press = |words: &str| {
        let script = format!(
            "const it = [...document.querySelectorAll('#key-view button')].find((it) => it.textContent === {words:?}); it?.click(); return Boolean(it)"
        );
        wait_for(words, || browser.run(&script).as_bool()?.then_some(()));
    };
    press("Edit");
    browser.write("#key-view textarea", "good morning");
    press("Write");
    browser.wait_for("#confirm-title", "Replace the value?");
    browser.click("#confirm-yes");
    browser.wait_for("#key-view pre", "good morning");
    let mut client = cluster.table(1, "orders").expect("the table");
    assert_eq!(client.line("GET greeting").text(), "good morning");
    assert!(
        client
            .line("TTL greeting")
            .as_integer()
            .is_some_and(|it| it > 80_000)
    );
    press("Delete");
    browser.wait_for("#confirm-text", "greeting");
    browser.click("#confirm-yes");
    browser.wait_for("#key-view", "gone");
    assert_eq!(client.line("EXISTS greeting").as_integer(), Some(0));
}

fn look_at_lists(browser: &Browser, pictures: &Pictures) {
    browser.click("nav a[href='#tables']");
    browser.wait_for("#table-list", "orders");
    browser.wait_for("#table-list", "in sync");
    pictures.take(browser, "console-tables");
    browser.click("nav a[href='#hot']");
    browser.wait_for("#hot-table", "orders");
    browser.click("#hot-table option[value='orders']");
    browser.wait_for("#hot-list", "order:");
    browser.wait_for("#big-list", "report:400000");
    pictures.take(browser, "console-hot");
    browser.click("nav a[href='#slow']");
    browser.wait_for("#slow-note", "2 bricks");
}

/// The same page under TLS, where nobody may look who has not signed in.
#[test]
fn browser_signs_in_under_tls() {
    let Some(browser) = Browser::start("the console in a browser under TLS", true) else {
        return;
    };
    let mut certificates = Certificates::new();
    certificates.issue_node("node");
    let tokens = tempfile::NamedTempFile::new().expect("a temporary file");
    fs::write(tokens.path(), "a-token-of-ours-alone\n").expect("written");
    let arguments = [
        format!("--client-cert={}", certificates.path("node.crt").display()),
        format!("--client-key={}", certificates.path("node.key").display()),
        format!("--http-tokens={}", tokens.path().display()),
    ];
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let dialer = certificates.dialer_of(None);
    let server = Setup::brickyard(1)
        .arguments(&arguments)
        .tls(dialer.clone())
        .start();
    let mut root =
        Client::try_connect_by("127.0.0.1", server.port(), Some(&dialer)).expect("a client");
    root.must(&["ACL", "SETUSER", "ann", "on", ">secret", "~*", "+@all"]);
    root.must(&["ACL", "SETUSER", "default", "off"]);
    browser.open(&format!("https://127.0.0.1:{}/", server.http_port()));
    health(&browser, "sign in to see the cluster");
    browser.write("#sign-in-user", "ann");
    browser.write("#sign-in-password", "secret");
    browser.click("#sign-in-go");
    browser.wait_for("#who", "ann");
    health(&browser, "all copies in sync");
    browser.click("#sign");
    health(&browser, "sign in to see the cluster");
}
