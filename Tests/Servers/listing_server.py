"""listing_server.py COUNT: an S3 store that only lists COUNT objects, a thousand in a response (ListObjectsV2), on a free port of 127.0.0.1,
which it prints. Stops when its standard input ends."""

import http.server
import sys
import threading
import urllib.parse

COUNT = int(sys.argv[1])
PAGE = 1000


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))
        first = int(query.get("continuation-token", "0+/=").removesuffix("+/="))
        last = min(first + PAGE, COUNT)
        parts = [f"<IsTruncated>{str(last < COUNT).lower()}</IsTruncated>"]
        if last < COUNT:
            parts.append(f"<NextContinuationToken>{last}+/=</NextContinuationToken>")
        for number in range(first, last):
            parts.append(
                f"<Contents><Key>{query['prefix']}{number % 256:02x}/{number:062x}</Key><LastModified>2026-11-24T09:18:44.929Z</LastModified>"
                f"<ETag>&quot;{number:032x}&quot;</ETag><Size>{number}</Size><StorageClass>STANDARD</StorageClass></Contents>"
            )
        body = f"<?xml version='1.0'?><ListBucketResult>{''.join(parts)}</ListBucketResult>".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_port, flush=True)
sys.stdin.read()
