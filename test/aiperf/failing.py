# A server that streams words of no meaning and turns every fifth request away: what AIPerf writes of a run that partly failed.
import json, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    asked = 0
    def log_message(self, *_): pass
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        Handler.asked += 1
        if Handler.asked % 5 == 0:
            text = b'{"error": {"message": "no memory left for this request", "code": 500}}'
            self.send_response(500); self.send_header("Content-Type", "application/json"); self.send_header("Content-Length", str(len(text)))
            self.end_headers(); self.wfile.write(text)
            return
        self.send_response(200); self.send_header("Content-Type", "text/event-stream"); self.send_header("Connection", "close"); self.end_headers()
        for i in range(request["max_tokens"]):
            time.sleep(0.005)
            chunk = {"id": "x", "object": "chat.completion.chunk", "model": "words", "choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": None}]}
            self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n"); self.wfile.flush()
        self.wfile.write(b"data: [DONE]\n\n"); self.close_connection = True
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
