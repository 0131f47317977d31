// Runs the search of the site without a server: a browser starts no Worker for a page that is opened from disk,
// so the worker's script runs in a hidden frame instead.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.onmessage = this.onerror = null
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.appendChild(frame)
      const inside = frame.contentWindow
      inside.postMessage = data => {
        const event = new MessageEvent("message", { data })
        this.dispatchEvent(event)
        if (this.onmessage) this.onmessage(event)
      }
      inside.importScripts = (...urls) =>
        urls.reduce((before, each) => before.then(() => this.load(frame, new URL(each, url))), Promise.resolve())
      this.inside = inside
      this.ready = this.load(frame, url)
    }
    load(frame, url) {
      return new Promise((resolve, reject) => {
        const script = frame.contentDocument.createElement("script")
        script.src = url
        script.onload = resolve
        script.onerror = reject
        frame.contentDocument.body.appendChild(script)
      })
    }
    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })))
    }
    terminate() {
      this.inside.frameElement.remove()
    }
  }
}
