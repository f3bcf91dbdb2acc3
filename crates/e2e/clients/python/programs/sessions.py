"""Sessions of web applications: Flask-Session, starsessions."""

import flask
import flask_session
import redis.asyncio
import starlette.applications
import starlette.responses
import starlette.routing
import starsessions
from register import Place, program
from starsessions.stores.redis import RedisStore


@program("Flask-Session", "a session over requests, its time, a new id at sign-in, its end")
def flask_sessions(place: Place) -> None:
    app = flask.Flask(__name__)
    client = place.client()
    app.config.update(SESSION_TYPE="redis", SESSION_REDIS=client, PERMANENT_SESSION_LIFETIME=100)
    flask_session.Session(app)

    @app.get("/visit")
    def visit() -> str:
        flask.session["visits"] = flask.session.get("visits", 0) + 1
        return str(flask.session["visits"])

    @app.get("/sign-in")
    def sign_in() -> str:
        app.session_interface.regenerate(flask.session)
        return "in"

    @app.get("/sign-out")
    def sign_out() -> str:
        flask.session.clear()
        return "out"

    browser = app.test_client()
    assert [browser.get("/visit").text for _ in range(3)] == ["1", "2", "3"] and app.test_client().get("/visit").text == "1"
    [before] = [key for key in client.scan_iter("session:*") if browser.get_cookie("session").value.encode() in key]
    assert 0 < client.ttl(before) <= 100
    browser.get("/sign-in")
    assert browser.get("/visit").text == "4" and not client.exists(before)
    browser.get("/sign-out")
    assert browser.get("/visit").text == "1"


@program("starsessions", "a session of a Starlette application over requests, removed when cleared")
async def starlette_sessions(place: Place) -> None:
    client = redis.asyncio.Redis(host=place.host, port=place.port)

    async def visit(request: starlette.requests.Request) -> starlette.responses.Response:
        await starsessions.load_session(request)
        request.session["visits"] = request.session.get("visits", 0) + 1
        if request.session["visits"] > 2:
            request.session.clear()
        return starlette.responses.PlainTextResponse("seen")

    store = RedisStore(connection=client)
    app = starlette.applications.Starlette(routes=[starlette.routing.Route("/", visit)])
    app.add_middleware(starsessions.SessionMiddleware, store=store, lifetime=100, cookie_https_only=False, rolling=True)

    async def get(cookie: bytes) -> dict[bytes, bytes]:
        """One request, given to the application as a server gives it."""
        sent = []

        async def receive() -> dict:
            return {"type": "http.request"}

        async def send(message: dict) -> None:
            sent.append(message)

        scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": [(b"cookie", cookie)]}
        await app(scope, receive, send)
        return dict(sent[0]["headers"])

    cookie = (await get(b""))[b"set-cookie"].split(b";")[0]
    name = "starsessions." + cookie.split(b"=")[1].decode()
    assert 0 < await client.ttl(name) <= 100
    await get(cookie)
    assert b'"visits"' in await client.get(name)
    await get(cookie)
    assert not await client.exists(name)
    await client.aclose()
