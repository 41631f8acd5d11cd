"""Tells where a request comes from: from this machine or through a proxy, from a program or from a page in a
browser.

A caller on this machine is granted more than others, and neither the peer's address nor the Host tells one
from the whole internet behind a tunnel: both are then those of this machine. So `find_forwarding_mark` looks
for what proxies add. Such a header can be forged, but that only takes rights away. What adds nothing (a
tunnel of plain TCP, such as `ssh -R`) cannot be recognized.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from vaultbridge.protocols.http.guard import find_host

if TYPE_CHECKING:
    from aiohttp import web

FORWARDING_HEADERS: Final = frozenset(
    {
        "via",  # RFC 9110 7.6.3: every proxy must send it, and only proxies may.
        "cdn-loop",  # RFC 8586: the same for content delivery networks.
        "x-nginx-proxy",
        "x-scheme",
        "x-url-scheme",
        "x-varnish",
        "x-via",
        "max-forwards",  # RFC 9110 7.6.2: only proxies count it down
        "surrogate-capability",  # Edge Side Includes: caches in front of a server
        "x-rewrite-url",  # IIS
        "x-request-start",  # Heroku, Render: when the router got the request
        "rndr-id",  # Render
        "x-amz-cf-id",  # Amazon CloudFront
        "front-end-https",  # Microsoft
        "early-data",  # RFC 8470: what ends TLS in front of a server
        "x-ms-client-principal",  # Azure
        "bypass-tunnel-reminder",  # localtunnel and zrok: what their callers send to skip a warning
        "skip-zrok-interstitial",
    }
)
"""Headers that say for whom, or by whom, a request was forwarded, in lower case."""

FORWARDING_PREFIXES: Final = (
    "x-forward",  # X-Forward-For, a misspelling of many configurations
    "x-real-",  # nginx
    "x-original-",  # Envoy, Kubernetes, Azure
    "x-proxy",  # zrok, and many configurations written by hand
    "x-envoy-",
    "x-tunnel-",  # Microsoft's dev tunnels
    "x-azure-",
    "x-arr-",  # IIS
    "akamai-",
    "x-akamai-",
    "x-pomerium-",
    "x-auth-request-",  # oauth2-proxy
    "x-authentik-",
    "remote-",  # Authelia and others, with the user they have let in
    "x-remote-",
    "x-webauth-",
    "x-client-cert",  # proxies that check the certificates of clients
    "client-cert",  # RFC 9440
    "x-ssl-",
    "ssl-client-",
    "x-amzn-oidc-",  # Amazon's load balancers
    "x-amzn-mtls-",
    "x-goog-authenticated-",
    "x-goog-iap-",
    "x-github-edge",  # Codespaces
    "x-railway-",
    "x-replit-",
    "x-heroku-",
    "x-haproxy-",
    "fastly-",
    "x-appengine-",
    "x-nf-",  # Netlify
    "x-vercel-",
    "x-sucuri-",
    "wl-proxy-",  # WebLogic
    "cf-",  # Cloudflare
    "cloudfront-",
    "fly-",
    "ngrok-",
    "tailscale-",
    "teleport-",
)
"""How such headers begin where a product has several, or may get more.

Headers for tracing (`X-Request-Id`, `traceparent`, `X-Amzn-Trace-Id`) are not among them, although proxies
add them too: programs on this machine send them themselves, and a proxy that adds one also adds another of
those above. `Proxy-Connection` is sent by clients."""

FORWARDING_WORD: Final = "forwarded"
"""RFC 7239, `X-Forwarded-For` and all its kind: nearly every reverse proxy and tunnel sends one of them."""

FORWARDING_ENDINGS: Final = ("-ip", "-ipv6", "clientip", "socketip")
"""How headers with the address of the real caller end (`X-Real-IP`, `True-Client-IP`, `CF-Connecting-IP`).
Every product has one of its own, and no program sends its own address."""

MARK_CHARS: Final = 40
"""How much of a header's name an answer repeats: all of those that exist are shorter."""

BROWSER_HEADERS: Final = ("Origin", "Sec-Fetch-Site")
"""Headers that browsers add and pages cannot remove. `Sec-Fetch-Mode` is not among them: Node adds it to each
fetch, and many assistants run on Node. A browser never sends it without `Sec-Fetch-Site`."""


def find_forwarding_mark(request: web.BaseRequest) -> str:
    """The name of a header by which a request shows that it came through a proxy or a tunnel, whatever its
    value; "" if there is none. Underscores count as hyphens, as they do for many servers."""
    for name in request.headers:
        if _is_forwarding(name):
            return name[:MARK_CHARS]
    # RFC 9110 7.6.1: what `Connection` names is removed on the way. So a caller behind a proxy may name what
    # the proxy adds, and no program on this machine has a reason to.
    for value in request.headers.getall("Connection", []):
        if any(_is_forwarding(name.strip()) for name in value.split(",")):
            return "Connection"
    # nginx speaks HTTP/1.0 to the server behind it unless it is told otherwise (it was the default until
    # 1.29.7), and adds no header of its own. Hardly any program still does.
    return "" if request.version >= (1, 1) else "HTTP/1.0"


def _is_forwarding(name: str) -> bool:
    plain = name.lower().replace("_", "-")
    return (
        plain in FORWARDING_HEADERS
        or FORWARDING_WORD in plain
        or plain.startswith(FORWARDING_PREFIXES)
        or plain.endswith(FORWARDING_ENDINGS)
    )


def is_local(request: web.BaseRequest) -> bool:
    """Whether a program on this machine has sent the request itself."""
    transport = request.transport
    peer = transport.get_extra_info("peername") if transport is not None else None
    return isinstance(peer, tuple) and _is_loopback(str(peer[0])) and not find_forwarding_mark(request)


def is_foreign_page(request: web.BaseRequest) -> bool:
    """Whether the request comes from a page in a browser that this server has not served."""
    return any(name in request.headers for name in BROWSER_HEADERS) and not _is_our_page(request)


def _is_our_page(request: web.BaseRequest) -> bool:
    """Whether the headers say that the request comes from a page of this server. Pages cannot set these
    headers, and the Host has been checked before. A browser sends no Origin when a page only reads from its
    own server. The port counts too: a server on another one may pass requests on to us unchanged, and its
    pages are not ours."""
    if not _names_own_port(request):
        return False
    origins = [origin.lower() for origin in request.headers.getall("Origin", [])]
    sites = request.headers.getall("Sec-Fetch-Site", [])
    if not origins:
        return request.method in ("GET", "HEAD") and sites == ["same-origin"]
    scheme = "https" if request.secure else "http"
    own = f"{scheme}://{find_host(request)}".lower()
    return origins == [own] and sites in ([], ["same-origin"])


def _names_own_port(request: web.BaseRequest) -> bool:
    """Whether the request is for the port on which it came. A Host without one names the scheme's."""
    transport = request.transport
    address = transport.get_extra_info("sockname") if transport is not None else None
    return not isinstance(address, tuple) or request.url.port == address[1]


def _is_loopback(address: str) -> bool:
    # Nearly every caller has one of these two addresses, which then need not be parsed.
    return address in ("127.0.0.1", "::1") or ip_address(address.partition("%")[0]).is_loopback
