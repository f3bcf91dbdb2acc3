//! The sites among the services in a real browser, with nothing but links and forms.

use crate::service::Service;
use brickyard_e2e::browser::Browser;
use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::http::Site;

fn join(browser: &Browser, site: &str, user: &str) {
    browser.open(&format!("{site}/join"));
    browser.write("input[name=user]", user);
    browser.write("input[name=password]", "a long secret");
    browser.click("#enter");
}

/// Joins by plain HTTP, and saves a version behind the first one.
fn save_as_bob(port: u16) {
    let site = Site::local(port);
    let form = ("Content-Type", "application/x-www-form-urlencoded");
    let joined = site.ask("POST", "/join", &[form], "user=bob&password=a+long+secret");
    let cookie = joined.header("set-cookie").expect("a session");
    let cookie = cookie.split(';').next().unwrap_or_default();
    let headers = [("Cookie", cookie), ("If-Match", "\"1\"")];
    let saved = site.ask("PUT", "/pages/welcome", &headers, "Only mortar");
    assert_eq!(saved.status, 204, "{}", saved.body);
    // What a page of another site has a browser send is refused.
    let foreign = ("Sec-Fetch-Site", "cross-site");
    let headers = [("Cookie", cookie), form, foreign];
    let refused = site.ask("POST", "/sign-out", &headers, "");
    assert_eq!(refused.status, 403, "{}", refused.body);
}

#[test]
fn browser_joins_writes_a_page_and_reads_it_at_another_instance_while_a_node_is_away() {
    let Some(browser) = Browser::start("the example site in a browser", false) else {
        return;
    };
    let mut cluster = Cluster::start(&[0, 1, 2], 1, &[]);
    cluster.create_table("site", &["REPLICAS", "2", "PARTITIONS", "16"]);
    cluster.wait_until_whole("site", 2);
    let instances = [0, 1].map(|_| Service::start("site", &cluster, &[]));
    let [one, two] = [0, 1].map(|at: usize| format!("http://127.0.0.1:{}", instances[at].port()));
    browser.wear(1000, 800, false);
    browser.open(&one);
    browser.wait_for("main", "There is no page yet");
    join(&browser, &one, "ann");
    browser.wait_for("#user", "ann");
    browser.click("#new");
    let text = "Bricks & <b>mortar</b>\n<script>document.title = 'stolen'</script>";
    browser.write("textarea", text);
    browser.click("#save");
    browser.wait_for("#text", "<b>mortar</b>");
    let shown = browser.wait_for("#text", "stolen");
    assert_eq!(shown, text, "as it was written, and nothing of it was run");
    assert_eq!(browser.run("return document.title"), "welcome");
    assert_eq!(browser.text("#visits").as_deref(), Some("1"));

    // Cookies are for a host, whichever port: at the other instance she is signed in, with a node less.
    cluster.kill(1);
    browser.open(&format!("{two}/pages/welcome"));
    browser.wait_for("#text", "Bricks & <b>mortar</b>");
    browser.wait_for("#user", "ann");
    assert_eq!(browser.text("#visits").as_deref(), Some("2"));
    browser.click("#edit");
    browser.write("textarea", "Only bricks");
    // Somebody else saves another version while she writes.
    save_as_bob(instances[1].port());
    browser.click("#save");
    browser.wait_for("#conflict", "Only mortar");
    browser.click("#save");
    browser.wait_for("#text", "Only bricks");
    browser.wait_for("#version", "3");
    cluster.launch(1);

    browser.open(&one);
    browser.wait_for("#pages", "welcome");
    browser.click("#sign-out");
    browser.wait_for("header", "Sign in");
    browser.open(&format!("{two}/edit/welcome"));
    browser.write("input[name=user]", "ann");
    browser.write("input[name=password]", "another secret");
    browser.click("#enter");
    browser.wait_for("#wrong", "Name or password is wrong");
    join(&browser, &two, "ann");
    browser.wait_for("#wrong", "taken");
    join(&browser, &two, "eve");
    browser.wait_for("#user", "eve");
}

#[test]
fn browser_is_told_what_readers_also_read() {
    let Some(browser) = Browser::start("the example recommender in a browser", false) else {
        return;
    };
    let cluster = Cluster::start(&[0], 1, &[]);
    let service = Service::start("recommender", &cluster, &[]);
    let address = format!("http://127.0.0.1:{}", service.port());
    let read = |reader: &str, page: &str| {
        browser.open(&address);
        browser.write("input[name=reader]", reader);
        browser.write("input[name=page]", page);
        browser.click("#visit");
        browser.wait_for("h1", page);
    };
    read("ann", "bricks");
    browser.wait_for("main", "None of its readers");
    read("ann", "mortar");
    browser.wait_for("#also", "bricks (1)");
    read("bob", "mortar");
    read("bob", "bricks");
    browser.wait_for("#also", "mortar (2)");
    browser.click("#also a");
    browser.wait_for("h1", "mortar");
    assert_eq!(browser.text("#visits").as_deref(), Some("2"));
    assert_eq!(browser.complaints(), [""; 0]);
}
