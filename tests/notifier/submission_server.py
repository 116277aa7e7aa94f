"""A mail server as those of sites outside are: it takes mail over TLS from who has logged in.

submission_server.py FOLDER CERTIFICATE KEY: writes its ports into FOLDER/port (STARTTLS) and
FOLDER/tls_port (TLS at once), what clients say into
FOLDER/said ("login grid secret", "plain": a client that tried without TLS), mail into FOLDER/mbox.
(Debian 12's OpenSMTPD cannot be the one: with its OpenSSL 3 it signs no TLS handshake.)
"""
import asyncio
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult

folder, certificate, key = sys.argv[1:]


def write(name, text):
    with open("%s/%s" % (folder, name), "a") as file:
        file.write(text)


class Handler:
    async def handle_DATA(self, server, session, envelope):
        write("mbox", envelope.content.decode())
        return "250 taken"


def login(server, session, envelope, mechanism, data):
    name, password = data.login.decode(), data.password.decode()
    over_tls = session.ssl or server.transport.get_extra_info("sslcontext")
    write("said", "login %s %s%s\n" % (name, password, "" if over_tls else " plain"))
    return AuthResult(success=(name, password) == ("grid", "secret"), handled=False)


async def main():
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificate, key)
    loop = asyncio.get_running_loop()
    at_once = await loop.create_server(
        lambda: SMTP(Handler(), auth_required=True, auth_require_tls=False, authenticator=login),
        "127.0.0.1", 0, ssl=tls)
    write("tls_port", "%d\n" % at_once.sockets[0].getsockname()[1])
    server = await loop.create_server(
        lambda: SMTP(Handler(), tls_context=tls, require_starttls=True, auth_required=True,
                     authenticator=login), "127.0.0.1", 0)
    write("port", "%d\n" % server.sockets[0].getsockname()[1])
    await server.serve_forever()


asyncio.run(main())
