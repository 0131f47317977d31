// Memory Ledger viewer. Made from ui/ by `make ui`; do not edit.
"use strict";
(() => {
  // node_modules/preact/dist/preact.mjs
  var n;
  var t;
  var r;
  var u;
  var i;
  var f;
  var o;
  var e;
  var l;
  var c;
  var a;
  var s;
  var h = /* @__PURE__ */ Symbol.for("pv");
  var p = {};
  var y = [];
  var v = /^m(i|n|o|s|text|space)$/;
  var w = Array.isArray;
  var d = y.slice;
  var _ = Object.assign;
  function g(n3) {
    n3 && n3.parentNode && n3.remove();
  }
  function k(n3, t4, r4) {
    var u4, i4, f5, o5 = {}, e4 = arguments.length;
    for (f5 in t4) "key" == f5 ? u4 = t4[f5] : "ref" == f5 && "function" != typeof n3 ? i4 = t4[f5] : o5[f5] = t4[f5];
    return e4 > 2 && (o5.children = e4 > 3 ? d.call(arguments, 2) : r4), m(n3, o5, u4, i4, null);
  }
  function m(r4, u4, i4, f5, o5) {
    var e4 = { type: r4, props: u4, key: i4, ref: f5, __k: null, __: null, __b: 0, __e: null, __c: null, constructor: h, __v: o5 || ++t, __i: -1, __u: 0 };
    return !o5 && n.vnode && n.vnode(e4), e4;
  }
  function $(n3) {
    return n3.children;
  }
  function x(n3, t4) {
    this.props = n3, this.context = t4, this.__g = 0;
  }
  function S(n3, t4) {
    if (null == t4) return n3.__ && S(n3.__, n3.__i + 1);
    for (var r4; t4 < n3.__k.length; t4++) if ((r4 = n3.__k[t4]) && r4.__e) return r4.__e;
    return "function" != typeof n3.type || n3.props.__P ? null : S(n3);
  }
  function C(t4) {
    var r4, u4 = t4.__v, i4 = u4.__e, f5 = [], o5 = [], e4 = t4.__P;
    e4 && ((r4 = _({ constructor: h }, u4)).__v = u4.__v + 1, n.vnode && n.vnode(r4), z(e4, r4, u4, t4.__n, e4.namespaceURI, 32 & u4.__u ? [i4] : null, f5, i4 || S(u4), 32 & u4.__u, o5), r4.__v = u4.__v, r4.__.__k[r4.__i] = r4, E(f5, r4, o5), u4.__ = u4.__e = null, r4.__e != i4 && j(r4));
  }
  function j(n3) {
    if ((n3 = n3.__) && n3.__c && !n3.props.__P) return n3.__e = null, n3.__k.some(function(t4) {
      return t4 && (n3.__e = t4.__e);
    }), j(n3);
  }
  function L(t4) {
    (8 & t4.__g || (t4.__g |= 8, u.push(t4), f++)) && i == n.debounceRendering || ((i = n.debounceRendering) || queueMicrotask)(H);
  }
  function H() {
    try {
      for (var n3, t4 = 1; u.length; ) u.length > t4 && u.sort(o), n3 = u.shift(), t4 = u.length, 8 & n3.__g && C(n3);
    } finally {
      (f = u.length) && (i || queueMicrotask)(H);
    }
  }
  function I(n3, t4, r4, u4, i4, f5, o5, e4, l4, c4, a5) {
    var s4, h5, v4, w5, d5, _4, g5 = u4.__k || y, k4 = t4.length;
    for (l4 = q(r4, t4, g5, l4, k4), s4 = 0; s4 < k4; s4++) null != (v4 = r4.__k[s4]) && (h5 = ~v4.__i && g5[v4.__i] || p, v4.__i = s4, _4 = z(n3, v4, h5, i4, f5, o5, e4, l4, c4, a5), w5 = v4.__e, (h5.ref != v4.ref || 8 & h5.__u) && (h5.ref && G(h5.ref, null, v4, h5), v4.ref && a5.push(v4.ref, v4.__c || w5, v4)), d5 = d5 || w5, 4 & v4.__u ? (l4 = A(v4, l4, n3, !h5.__v), h5.__e && (h5.__e = null)) : "function" == typeof v4.type && void 0 !== _4 ? l4 = _4 : w5 && (l4 = w5.nextSibling), v4.__u &= -21);
    return r4.__e = d5, l4;
  }
  function q(n3, t4, r4, u4, i4) {
    var f5, o5, e4, l4, c4, a5, s4, p5, y5, v4 = r4.length, d5 = v4, _4 = 0, g5 = 0, k4 = n3.__k = Array(i4);
    for (f5 = 0; f5 < i4; f5++) null != (o5 = t4[f5]) && "boolean" != typeof o5 && "function" != typeof o5 ? ("object" != typeof o5 || o5.constructor === String ? o5 = k4[f5] = m(null, o5) : w(o5) ? o5 = k4[f5] = m($, { children: o5 }) : o5.constructor === h && o5.__b ? o5 = k4[f5] = m(o5.type, o5.props, o5.key, o5.ref, o5.__v) : k4[f5] = o5, l4 = f5 + _4, o5.__ = n3, o5.__b = n3.__b + 1, e4 = null, ~(c4 = o5.__i = P(o5, r4, l4, d5)) && (d5--, (e4 = r4[c4]) && (e4.__u |= 2)), e4 && e4.__v ? (o5.__u |= 16, c4 == l4 - 1 ? _4-- : c4 == l4 + 1 ? _4++ : c4 != l4 && (c4 > l4 ? _4-- : _4++, g5 = 1)) : (~c4 || (i4 > v4 ? _4-- : i4 < v4 && _4++), "function" != typeof o5.type && (o5.__u |= 4))) : k4[f5] = null;
    if (g5) {
      for (a5 = [], s4 = [], f5 = 0; f5 < i4; f5++) if ((o5 = k4[f5]) && 16 & o5.__u) {
        for (_4 = 0, p5 = a5.length; _4 < p5; ) a5[y5 = _4 + p5 >> 1] < o5.__i ? _4 = y5 + 1 : p5 = y5;
        a5[_4] = o5.__i, s4[f5] = _4 + 1;
      }
      for (_4 = a5.length; f5--; ) s4[f5] && (s4[f5] == _4 ? _4-- : k4[f5].__u |= 4);
    }
    if (d5) for (f5 = 0; f5 < v4; f5++) !(e4 = r4[f5]) || 2 & e4.__u || (e4.__e == u4 && (u4 = S(e4)), J(e4, e4));
    return u4;
  }
  function A(n3, t4, r4, u4) {
    var i4, f5, o5, e4;
    if ("function" == typeof n3.type) {
      if (n3.props.__P) return t4;
      if (i4 = n3.__k) for (f5 = 0; f5 < i4.length; f5++) i4[f5] && (i4[f5].__ = n3, t4 = A(i4[f5], t4, r4, false));
      return t4;
    }
    for (t4 && !t4.parentNode && (t4 = S(n3)) && !t4.parentNode && (t4 = null), o5 = n3.__e, e4 = t4; e4 && 8 == e4.nodeType; ) e4 = e4.nextSibling;
    for (o5 != e4 && (!u4 && r4.moveBefore && o5.parentNode ? r4.moveBefore(o5, t4) : r4.insertBefore(o5, t4 || null)), t4 = o5; (t4 = t4 && t4.nextSibling) && 8 == t4.nodeType && !t4.data.startsWith("$s"); ) ;
    return t4;
  }
  function P(n3, t4, r4, u4) {
    var i4, f5 = n3.key, o5 = n3.type, e4 = t4[r4], l4 = e4 && !(2 & e4.__u);
    if (null === e4 && null == f5 || l4 && f5 == e4.key && o5 == e4.type) return r4;
    if (u4 > (l4 ? 1 : 0)) {
      for (i4 = r4 - 1; i4 >= 0; i4--) if ((e4 = t4[i4]) && !(2 & e4.__u) && f5 == e4.key && o5 == e4.type) return i4;
      for (i4 = r4 + 1; i4 < t4.length; i4++) if ((e4 = t4[i4]) && !(2 & e4.__u) && f5 == e4.key && o5 == e4.type) return i4;
    }
    return -1;
  }
  function T(n3, t4, r4) {
    null == r4 && (r4 = ""), "-" == t4[0] ? n3.setProperty(t4, r4) : n3[t4] = r4;
  }
  function N(n3, t4, r4, u4, i4) {
    var f5, o5;
    if ("style" == t4) if ("string" == typeof r4) n3.style.cssText = r4;
    else {
      if ("string" == typeof u4 && (n3.style.cssText = u4 = ""), u4) for (t4 in u4) r4 && t4 in r4 || T(n3.style, t4);
      if (r4) for (t4 in r4) u4 && r4[t4] == u4[t4] || T(n3.style, t4, r4[t4]);
    }
    else if ("o" == t4[0] && "n" == t4[1]) "function" != typeof r4 && (r4 = null), "function" != typeof u4 && (u4 = null), (n3.__e || (n3.__e = {}))[t4] = r4, r4 && u4 || (o5 = a[t4] || (a[t4] = V(t4)), (n3.__a || (n3.__a = {}))[t4] = c, f5 = t4 != (t4 = t4.replace(l, "$1")), (t4 = t4.slice(2))[0] < "a" && (t4 = t4.toLowerCase()), r4 ? n3.addEventListener(t4, o5, f5) : n3.removeEventListener(t4, o5, f5));
    else {
      if ("http://www.w3.org/2000/svg" == i4) t4 = t4.replace(/xlink(H|:h)/, "h").replace(/sName$/, "s");
      else if ("width" != t4 && "height" != t4 && "href" != t4 && "list" != t4 && "form" != t4 && "tabIndex" != t4 && "download" != t4 && "rowSpan" != t4 && "colSpan" != t4 && "role" != t4 && "popover" != t4 && t4 in n3) try {
        return void (n3[t4] = null == r4 ? "" : r4);
      } catch (n4) {
      }
      if ("function" == typeof r4) return;
      null == r4 || false === r4 && "-" != t4[4] ? n3.removeAttribute(t4) : n3.setAttribute(t4, "popover" == t4 && 1 == r4 ? "" : r4);
    }
  }
  function V(t4) {
    return function(r4) {
      var u4 = this.__e;
      if (u4) {
        if (u4 = u4[t4], null == r4[e]) r4[e] = c++;
        else if (r4[e] < this.__a[t4]) return;
        return u4(n.event ? n.event(r4) : r4);
      }
    };
  }
  function z(t4, r4, u4, i4, f5, o5, e4, l4, c4, a5) {
    var s4, p5, v4, d5, k4, b3, m5, M2, C3, j3, L2, H2, q2, A4, O2, P2, T4, N2, V2 = r4.type;
    if (r4.constructor !== h) return null;
    128 & u4.__u && (c4 = 32 & u4.__u, s4 = u4.__c.__z) && (r4.__u |= c4, p5 = o5 = [], 8 == s4.nodeType ? l4 = B(s4, o5) : o5.push(s4), l4 = o5[0] || l4), (s4 = n.__b) && s4(r4);
    n: if ("function" == typeof V2) {
      v4 = e4.length;
      try {
        if (M2 = r4.props, C3 = (s4 = V2.prototype) && s4.render, j3 = (s4 = V2.contextType) && i4[s4.__c], L2 = s4 ? j3 ? j3.props.value : s4.__ : i4, (d5 = u4.__c) ? (r4.__c = d5, 2 & d5.__g && (d5.__g |= 1)) : (C3 ? r4.__c = d5 = new V2(M2, L2) : (r4.__c = d5 = new x(M2, L2), d5.constructor = V2, d5.render = K), j3 && j3.sub(d5), d5.state || (d5.state = {}), d5.__n = i4, d5.__g |= 8, d5.__h = [], d5.__k = []), C3 && (d5.__s || (d5.__s = d5.state), V2.getDerivedStateFromProps && (d5.__s == d5.state && (d5.__s = _({}, d5.__s)), _(d5.__s, V2.getDerivedStateFromProps(M2, d5.__s)))), k4 = d5.props, b3 = d5.state, d5.__v = r4, u4.__c) {
          if (M2 !== k4 && C3 && !V2.getDerivedStateFromProps && d5.componentWillReceiveProps && d5.componentWillReceiveProps(M2, L2), r4.__v == u4.__v && !(8 & d5.__g) || !(4 & d5.__g) && d5.shouldComponentUpdate && false === d5.shouldComponentUpdate(M2, d5.__s, L2)) {
            r4.__v != u4.__v && (d5.props = M2, d5.state = d5.__s, d5.__g &= -9), r4.__e = u4.__e, r4.__k = u4.__k, r4.__k.some(function(n3) {
              n3 && (n3.__ = r4);
            }), y.push.apply(d5.__h, d5.__k), d5.__k = [], d5.__h.length && e4.push(d5), l4 = S(u4);
            break n;
          }
          d5.componentWillUpdate && d5.componentWillUpdate(M2, d5.__s, L2), C3 && d5.componentDidUpdate && d5.__h.push(function() {
            d5.componentDidUpdate(k4, b3, m5);
          });
        } else C3 && !V2.getDerivedStateFromProps && d5.componentWillMount && d5.componentWillMount(), C3 && d5.componentDidMount && d5.__h.push(d5.componentDidMount);
        d5.context = L2, d5.props = M2, d5.__P = t4, d5.__g &= -5, H2 = n.__r, q2 = C3 ? 25 : 0;
        do {
          d5.__g &= -9, H2 && H2(r4), s4 = d5.render(d5.props, d5.state = d5.__s, d5.context);
        } while (8 & d5.__g && ++q2 < 25);
        C3 && (y.push.apply(d5.__h, d5.__k), d5.__k = []), d5.state = d5.__s, d5.getChildContext && (i4 = _({}, i4, d5.getChildContext())), C3 && u4.__c && d5.getSnapshotBeforeUpdate && (m5 = d5.getSnapshotBeforeUpdate(k4, b3)), A4 = s4 && s4.type === $ && null == s4.key ? s4.props.children : s4, M2.__P && (s4 = l4, f5 = (t4 = M2.__P).namespaceURI, c4 = o5 = null, u4.props && u4.props.__P != t4 && (u4.__k.some(function(n3) {
          n3 && J(n3, n3);
        }), u4.__k = null), l4 = u4.__k ? S(u4, 0) : null), l4 = I(t4, w(A4) ? A4 : [A4], r4, u4, i4, f5, o5, e4, l4, c4, a5), M2.__P && (r4.__e = null, l4 = s4), r4.__u &= -161, p5 && p5.some(g), d5.__h.length && e4.push(d5), 1 & d5.__g && (d5.__g &= -4);
      } catch (t5) {
        if (e4.length = v4, r4.__v = null, c4 || o5) if (t5 && t5.then) {
          if (r4.__u |= 128 | c4, o5) {
            for (~(T4 = o5.indexOf(l4 || void 0)) || (T4 = o5.length); (N2 = o5[T4 - 1]) && 8 == N2.nodeType; ) T4--;
            for (; T4 < o5.length; T4++) if (N2 = o5[T4]) if (o5[T4] = null, O2) {
              if (N2 == P2) break;
            } else {
              if (8 != N2.nodeType) break;
              N2.data.startsWith("$s") && (P2 = B(O2 = N2));
            }
          }
          if (!O2) {
            for (; l4 && 8 == l4.nodeType && l4.nextSibling; ) l4 = l4.nextSibling;
            O2 = l4;
          }
          (s4 = B(O2 = r4.__c.__z || (r4.__c.__z = O2))) ? (r4.__e = O2, l4 = s4) : r4.__e = l4, l4 = l4 && l4.nextSibling;
        } else o5 && o5.some(g);
        else r4.__e = u4.__e;
        r4.__k || (r4.__k = u4.__k || []), t5 && t5.then || D(r4), n.__e(t5, r4, u4);
      }
    } else l4 = r4.__e = F(u4.__e, r4, u4, i4, f5, o5, e4, c4, a5, t4);
    return (s4 = n.diffed) && s4(r4), l4;
  }
  function B(n3, t4) {
    if (n3 && 8 == n3.nodeType && n3.data.startsWith("$s")) for (var r4 = 1; n3 = n3.nextSibling; ) {
      if (8 == n3.nodeType) {
        if (n3.data.startsWith("$s")) r4++;
        else if (n3.data.startsWith("/$s") && !--r4) return n3;
      }
      t4 && t4.push(n3);
    }
  }
  function D(n3) {
    n3 && (n3.__c && (n3.__c.__g |= 4), n3.__k && n3.__k.some(D));
  }
  function E(t4, r4, u4) {
    for (var i4 = 0; i4 < u4.length; ) G(u4[i4++], u4[i4++], u4[i4++]);
    n.__c && n.__c(r4, t4), t4.some(function(r5) {
      try {
        t4 = r5.__h, r5.__h = [], t4.some(function(n3) {
          n3.call(r5);
        });
      } catch (t5) {
        n.__e(t5, r5.__v);
      }
    });
  }
  function F(t4, r4, u4, i4, f5, o5, e4, l4, c4, a5) {
    var s4, h5, y5, _4, k4, b3, m5, M2, $2 = u4.props || p, x3 = r4.props, C3 = r4.type;
    if ("svg" == C3 ? f5 = "http://www.w3.org/2000/svg" : "math" == C3 ? f5 = "http://www.w3.org/1998/Math/MathML" : f5 || (f5 = "http://www.w3.org/1999/xhtml"), o5) {
      for (s4 = 0; s4 < o5.length; s4++) if ((k4 = o5[s4]) && (C3 ? k4.localName == C3 : 3 == k4.nodeType)) {
        t4 = k4, o5[s4] = null;
        break;
      }
    }
    if (!t4) {
      if (M2 = a5.ownerDocument || document, !C3) return M2.createTextNode(x3);
      t4 = M2.createElementNS(f5, C3, x3.is ? x3 : a5), l4 && (n.__m && n.__m(r4, o5), l4 = false), o5 = null;
    }
    if (C3) {
      if (a5 = "template" == C3 && t4.content || t4, o5 = "textarea" == C3 && null != x3.defaultValue ? null : o5 && d.call(a5.childNodes), !l4 && o5) for ($2 = {}, s4 = 0; s4 < t4.attributes.length; s4++) $2[(k4 = t4.attributes[s4]).name] = k4.value;
      for (s4 in $2) k4 = $2[s4], "dangerouslySetInnerHTML" == s4 ? y5 = k4 : "children" == s4 || s4 in x3 || "value" == s4 && "defaultValue" in x3 || "checked" == s4 && "defaultChecked" in x3 || N(t4, s4, null, k4, f5);
      for (s4 in x3) k4 = x3[s4], "children" == s4 ? _4 = k4 : "dangerouslySetInnerHTML" == s4 ? h5 = k4 : "value" == s4 ? b3 = k4 : "checked" == s4 ? m5 = k4 : l4 && "function" != typeof k4 || $2[s4] === k4 || N(t4, s4, k4, $2[s4], f5);
      h5 ? (l4 || y5 && (h5.__html == y5.__html || h5.__html == t4.innerHTML) || (t4.innerHTML = h5.__html), r4.__k = []) : (y5 && (t4.textContent = ""), ("foreignObject" == C3 || "http://www.w3.org/1998/Math/MathML" == f5 && v.test(C3)) && (f5 = "http://www.w3.org/1999/xhtml"), I(a5, w(_4) ? _4 : [_4], r4, u4, i4, f5, o5, e4, o5 ? o5[0] : u4.__k && S(u4, 0), l4, c4), o5 && o5.some(g)), l4 && "textarea" != C3 || (s4 = "value", "progress" == C3 && null == b3 ? t4.removeAttribute(s4) : null == b3 || b3 === t4[s4] && ("progress" != C3 || b3) || N(t4, s4, b3, $2[s4], f5), s4 = "checked", null != m5 && m5 != t4[s4] && N(t4, s4, m5, $2[s4], f5));
    } else $2 === x3 || l4 && t4.data == x3 || (t4.data = x3);
    return t4;
  }
  function G(t4, r4, u4, i4) {
    try {
      "function" == typeof t4 ? r4 ? r4.__x = t4(r4) || 1 : i4 && (i4 = i4.__c || i4.__e) && (r4 = i4.__x) && (i4.__x = null, "function" == typeof r4 ? r4() : t4(null)) : t4.current = r4;
    } catch (t5) {
      n.__e(t5, u4);
    }
  }
  function J(t4, r4, u4) {
    var i4, f5, o5, e4;
    if (n.unmount && n.unmount(t4), !(i4 = t4.ref) || i4.current && i4.current != t4.__e || G(i4, null, r4, t4), i4 = t4.__c) {
      if (i4.componentWillUnmount) try {
        i4.componentWillUnmount();
      } catch (t5) {
        n.__e(t5, r4);
      }
      i4.__P = i4.__n = null;
    }
    if (i4 = t4.__k) for (e4 = 0; e4 < i4.length; e4++) i4[e4] && J(i4[e4], r4, "function" != typeof t4.type || u4 && !t4.props.__P);
    !u4 && (i4 = t4.__c) && (i4 = i4.__z) && (f5 = B(i4, o5 = [])) && (i4 == t4.__e && o5.some(g), g(f5), g(i4)), u4 || g(t4.__e), t4.__e = t4.__c = t4.__ = null;
  }
  function K(n3, t4, r4) {
    return this.constructor(n3, r4);
  }
  function Q(t4, r4) {
    var u4, i4, f5, o5;
    n.__ && n.__(t4, r4), 9 == r4.nodeType && (r4 = r4.documentElement), i4 = (u4 = t4 && 32 & t4.__u) ? null : r4.__k, r4.__k = m($, { children: [t4] }), f5 = [], o5 = [], z(r4, r4.__k, i4 || p, p, r4.namespaceURI, i4 ? null : r4.firstChild ? d.call(r4.childNodes) : null, f5, i4 ? i4.__e : r4.firstChild, u4, o5), E(f5, r4.__k, o5), r4.__k.props.children = null;
  }
  n = { __e: function(n3, t4, r4, u4) {
    for (var i4, o5, e4; t4 = t4.__; ) if ((i4 = t4.__c) && !(1 & i4.__g)) {
      i4.__g |= 4;
      try {
        if ((e4 = (o5 = i4.constructor) && o5.getDerivedStateFromError) && i4.setState(o5.getDerivedStateFromError(n3)), i4.componentDidCatch && (i4.componentDidCatch(n3, u4 || {}), e4 = 1), e4 && 8 & i4.__g) return void (i4.__g |= 2);
      } catch (t5) {
        n3 = t5;
      }
    }
    throw f = 0, n3;
  } }, t = 0, r = function(n3) {
    return null != n3 && n3.constructor === h;
  }, x.prototype.setState = function(n3, t4) {
    var r4 = this.__s;
    r4 && r4 != this.state || (r4 = this.__s = _({}, this.state)), "function" == typeof n3 && (n3 = n3(_({}, r4), this.props)), n3 && (_(r4, n3), this.__v && (t4 && this.__k.push(t4), L(this)));
  }, x.prototype.forceUpdate = function(n3) {
    this.__v && (this.__g |= 4, n3 && this.__h.push(n3), L(this));
  }, x.prototype.render = $, u = [], f = 0, o = function(n3, t4) {
    return n3.__v.__b - t4.__v.__b;
  }, e = /* @__PURE__ */ Symbol(), l = /(PointerCapture)$|Capture$/i, c = 0, a = {}, s = 0;

  // node_modules/preact/hooks/dist/hooks.mjs
  var t2;
  var r2;
  var u2;
  var i2;
  var o2 = Object.is;
  var f2 = 0;
  var c2 = [];
  var e2 = [];
  var a2 = n;
  var v2 = a2.__b;
  var l2 = a2.__r;
  var m2 = a2.diffed;
  var h2 = a2.__c;
  var s2 = a2.unmount;
  var p2 = a2.__;
  function y2(n3, t4) {
    a2.__h && a2.__h(r2, n3, f2 || t4), f2 = 0;
    var u4 = r2.__H || (r2.__H = { __: [], __h: [] });
    return n3 >= u4.__.length && u4.__.push({}), u4.__[n3];
  }
  function d2(n3) {
    return f2 = 1, _2(G2, n3);
  }
  function _2(n3, u4, i4) {
    var f5 = y2(t2++, 2);
    if (f5.t = n3, !f5.__c && (f5.__ = [i4 ? i4(u4) : G2(void 0, u4), function(n4) {
      var t4 = (f5.__N || f5.__)[0], r4 = f5.t(t4, n4);
      o2(t4, r4) || (f5.__N = [r4, f5.__[1]], f5.__c.setState({}));
    }], f5.__c = r2, !r2.__f)) {
      r2.__f = true;
      var c4 = r2.shouldComponentUpdate;
      r2.shouldComponentUpdate = function(n4, t4, r4) {
        var u5 = this.__H;
        if (!u5) return true;
        var i5 = false, f6 = this.props != n4;
        if (u5.__.some(function(n5) {
          n5.__N && (i5 = true, o2(n5.__[0], n5.__N[0]) || (f6 = true));
        }), c4) {
          var e4 = c4.call(this, n4, t4, r4);
          return i5 ? e4 || f6 : e4;
        }
        return !i5 || f6;
      };
    }
    return f5.__;
  }
  function A2(n3, u4) {
    var i4 = y2(t2++, 3);
    !a2.__s && E2(i4.__H, u4) && (i4.__P = true, i4.__ = n3, i4.u = u4, r2.__H.__h.push(i4));
  }
  function F2(n3, u4) {
    var i4 = y2(t2++, 4);
    !a2.__s && E2(i4.__H, u4) && (i4.__P = false, i4.__ = n3, i4.u = u4, r2.__h.push(i4));
  }
  function T2(n3) {
    return f2 = 5, w2(function() {
      return { current: n3 };
    }, []);
  }
  function w2(n3, r4) {
    var u4 = y2(t2++, 7);
    return E2(u4.__H, r4) && (u4.__ = n3(), u4.__H = r4), u4.__;
  }
  function g2() {
    var n3;
    do {
      for (; n3 = e2.shift(); ) try {
        C2(n3);
      } catch (t5) {
        a2.__e(t5, { __: (n3 = n3.__P) && n3.__v });
      }
      for (; n3 = c2.shift(); ) {
        var t4 = n3.__H;
        if (n3.__P && t4) try {
          t4.__h.some(C2), t4.__h.some(D2), t4.__h = [];
        } catch (r4) {
          t4.__h = [], a2.__e(r4, n3.__v);
        }
      }
    } while (e2.length);
  }
  a2.__b = function(n3) {
    r2 = null, v2 && v2(n3);
  }, a2.__ = function(n3, t4) {
    n3 && t4.__k && t4.__k.__m && (n3.__m = t4.__k.__m), p2 && p2(n3, t4);
  }, a2.__r = function(n3) {
    l2 && l2(n3), t2 = 0;
    var i4 = (r2 = n3.__c).__H;
    i4 && (u2 == r2 ? r2.__h = [] : (i4.__h.some(C2), i4.__h.some(D2), t2 = 0), i4.__h = [], i4.__.some(function(n4) {
      n4.__N && (n4.__ = n4.__N), n4.u = n4.__N = void 0;
    })), u2 = r2;
  }, a2.diffed = function(n3) {
    m2 && m2(n3);
    var t4 = n3.__c;
    t4 && t4.__H && (t4.__H.__h.length && B2(c2.push(t4)), t4.__H.__.some(function(n4) {
      n4.u && (n4.__H = n4.u);
    })), u2 = r2 = null;
  }, a2.__c = function(n3, t4) {
    t4.some(function(n4) {
      try {
        n4.__h.some(C2), n4.__h = n4.__h.filter(function(n5) {
          return !n5.__ || D2(n5);
        });
      } catch (t5) {
        n4.__h = [function() {
          throw t5;
        }];
      }
    }), h2 && h2(n3, t4);
  }, a2.unmount = function(n3) {
    s2 && s2(n3);
    var t4, r4, u4 = n3.__c;
    u4 && u4.__H && (u4.__H.__.some(function(u5) {
      try {
        if (u5.__P && u5.__c) {
          if (void 0 === r4) {
            for (r4 = n3.__; r4 && (!r4.__c || !r4.__c.__P); ) r4 = r4.__;
            r4 = r4 && r4.__c;
          }
          u5.__P = r4, B2(e2.push(u5));
        } else C2(u5);
      } catch (n4) {
        t4 = n4;
      }
    }), u4.__H = void 0, t4 && a2.__e(t4, u4.__v));
  };
  var k2 = "function" == typeof requestAnimationFrame;
  function z2(n3) {
    var t4, r4 = function() {
      clearTimeout(u4), k2 && cancelAnimationFrame(t4), setTimeout(n3);
    }, u4 = setTimeout(r4, 35);
    k2 && (t4 = requestAnimationFrame(r4));
  }
  function B2(n3) {
    1 != n3 && i2 == a2.requestAnimationFrame || ((i2 = a2.requestAnimationFrame) || z2)(g2);
  }
  function C2(n3) {
    var t4 = r2, u4 = n3.__c;
    "function" == typeof u4 && (n3.__c = void 0, u4()), r2 = t4;
  }
  function D2(n3) {
    var t4 = r2;
    n3.__c = n3.__(), r2 = t4;
  }
  function E2(n3, t4) {
    return !n3 || n3.length != t4.length || t4.some(function(t5, r4) {
      return !o2(t5, n3[r4]);
    });
  }
  function G2(n3, t4) {
    return "function" == typeof t4 ? t4(n3) : t4;
  }

  // node_modules/@preact/signals-core/dist/signals-core.module.js
  var i3 = /* @__PURE__ */ Symbol.for("preact-signals");
  function t3() {
    if (!(v3 > 1)) {
      var i4, t4 = false;
      !(function() {
        var i5 = c3;
        c3 = void 0;
        while (void 0 !== i5) {
          var t5 = i5.S;
          if (t5.v === i5.v) {
            for (var r5 = t5.t; void 0 !== r5; r5 = r5.x) if (r5.i === i5.i) r5.i = t5.i;
          }
          i5 = i5.o;
        }
      })();
      while (void 0 !== h3) {
        var r4 = h3;
        h3 = void 0;
        s3++;
        while (void 0 !== r4) {
          var n3 = r4.u;
          r4.u = void 0;
          r4.f &= -3;
          if (!(8 & r4.f) && w3(r4)) try {
            r4.c();
          } catch (r5) {
            if (!t4) {
              i4 = r5;
              t4 = true;
            }
          }
          r4 = n3;
        }
      }
      s3 = 0;
      v3--;
      if (t4) throw i4;
    } else v3--;
  }
  function r3(i4) {
    if (v3 > 0) return i4();
    u3 = ++e3;
    v3++;
    try {
      return i4();
    } finally {
      t3();
    }
  }
  var n2;
  var o3 = void 0;
  function f3(i4) {
    var t4 = o3, r4 = n2;
    o3 = void 0;
    n2 = void 0;
    try {
      return i4();
    } finally {
      o3 = t4;
      n2 = r4;
    }
  }
  var h3 = void 0;
  var v3 = 0;
  var s3 = 0;
  var e3 = 0;
  var u3 = 0;
  var c3 = void 0;
  var a3 = 0;
  function d3(i4) {
    if (void 0 !== o3) {
      var t4 = i4.n;
      if (void 0 === t4 || t4.t !== o3) {
        t4 = { i: 0, S: i4, p: o3.s, n: void 0, t: o3, e: void 0, x: void 0, r: t4 };
        if (void 0 !== o3.s) o3.s.n = t4;
        o3.s = t4;
        i4.n = t4;
        if (32 & o3.f) i4.S(t4);
        return t4;
      } else if (-1 === t4.i) {
        t4.i = 0;
        if (void 0 !== t4.n) {
          t4.n.p = t4.p;
          if (void 0 !== t4.p) t4.p.n = t4.n;
          t4.p = o3.s;
          t4.n = void 0;
          o3.s.n = t4;
          o3.s = t4;
        }
        return t4;
      }
    }
  }
  function l3(i4, t4) {
    this.v = i4;
    this.i = 0;
    this.n = void 0;
    this.t = void 0;
    this.l = 0;
    this.W = null == t4 ? void 0 : t4.watched;
    this.Z = null == t4 ? void 0 : t4.unwatched;
    this.name = null == t4 ? void 0 : t4.name;
  }
  l3.prototype.brand = i3;
  l3.prototype.h = function() {
    return true;
  };
  l3.prototype.S = function(i4) {
    var t4 = this, r4 = this.t;
    if (r4 !== i4 && void 0 === i4.e) {
      i4.x = r4;
      this.t = i4;
      if (void 0 !== r4) r4.e = i4;
      else f3(function() {
        var i5;
        null == (i5 = t4.W) || i5.call(t4);
      });
    }
  };
  l3.prototype.U = function(i4) {
    var t4 = this;
    if (void 0 !== this.t) {
      var r4 = i4.e, n3 = i4.x;
      if (void 0 !== r4) {
        r4.x = n3;
        i4.e = void 0;
      }
      if (void 0 !== n3) {
        n3.e = r4;
        i4.x = void 0;
      }
      if (i4 === this.t) {
        this.t = n3;
        if (void 0 === n3) f3(function() {
          var i5;
          null == (i5 = t4.Z) || i5.call(t4);
        });
      }
    }
  };
  l3.prototype.subscribe = function(i4) {
    var t4 = this;
    return x2(function() {
      var r4 = t4.value;
      f3(function() {
        return i4(r4);
      });
    }, { name: "sub" });
  };
  l3.prototype.valueOf = function() {
    return this.value;
  };
  l3.prototype.toString = function() {
    return this.value + "";
  };
  l3.prototype.toJSON = function() {
    return this.value;
  };
  l3.prototype.peek = function() {
    var i4 = this;
    return f3(function() {
      return i4.value;
    });
  };
  Object.defineProperty(l3.prototype, "value", { get: function() {
    var i4 = d3(this);
    if (void 0 !== i4) i4.i = this.i;
    return this.v;
  }, set: function(i4) {
    if (i4 !== this.v) {
      if (s3 > 100) throw new Error("Cycle detected");
      !(function(i5) {
        if (0 !== v3 && 0 === s3) {
          if (i5.l !== u3) {
            i5.l = u3;
            c3 = { S: i5, v: i5.v, i: i5.i, o: c3 };
          }
        }
      })(this);
      this.v = i4;
      this.i++;
      a3++;
      v3++;
      try {
        for (var r4 = this.t; void 0 !== r4; r4 = r4.x) r4.t.N();
      } finally {
        t3();
      }
    }
  } });
  function y3(i4, t4) {
    return new l3(i4, t4);
  }
  function w3(i4) {
    for (var t4 = i4.s; void 0 !== t4; t4 = t4.n) if (t4.S.i !== t4.i || !t4.S.h() || t4.S.i !== t4.i) return true;
    return false;
  }
  function b(i4) {
    for (var t4 = i4.s; void 0 !== t4; t4 = t4.n) {
      var r4 = t4.S.n;
      if (void 0 !== r4) t4.r = r4;
      t4.S.n = t4;
      t4.i = -1;
      if (void 0 === t4.n) {
        i4.s = t4;
        break;
      }
    }
  }
  function _3(i4) {
    var t4 = i4.s, r4 = void 0;
    while (void 0 !== t4) {
      var n3 = t4.p;
      if (-1 === t4.i) {
        t4.S.U(t4);
        if (void 0 !== n3) n3.n = t4.n;
        if (void 0 !== t4.n) t4.n.p = n3;
      } else r4 = t4;
      t4.S.n = t4.r;
      if (void 0 !== t4.r) t4.r = void 0;
      t4 = n3;
    }
    i4.s = r4;
  }
  function j2(i4, t4) {
    l3.call(this, void 0, t4);
    this.x = i4;
    this.s = void 0;
    this.g = a3 - 1;
    this.f = 4;
  }
  j2.prototype = new l3();
  j2.prototype.h = function() {
    this.f &= -3;
    if (1 & this.f) return false;
    if (32 == (36 & this.f)) return true;
    this.f &= -5;
    if (this.g === a3) return true;
    this.g = a3;
    this.f |= 1;
    if (this.i > 0 && !w3(this)) {
      this.f &= -2;
      return true;
    }
    var i4 = o3;
    try {
      b(this);
      o3 = this;
      var t4 = this.x();
      if (16 & this.f || this.v !== t4 || 0 === this.i) {
        this.v = t4;
        this.f &= -17;
        this.i++;
      }
    } catch (i5) {
      this.v = i5;
      this.f |= 16;
      this.i++;
    }
    o3 = i4;
    _3(this);
    this.f &= -2;
    return true;
  };
  j2.prototype.S = function(i4) {
    if (void 0 === this.t) {
      this.f |= 36;
      for (var t4 = this.s; void 0 !== t4; t4 = t4.n) t4.S.S(t4);
    }
    l3.prototype.S.call(this, i4);
  };
  j2.prototype.U = function(i4) {
    if (void 0 !== this.t) {
      l3.prototype.U.call(this, i4);
      if (void 0 === this.t) {
        this.f &= -33;
        for (var t4 = this.s; void 0 !== t4; t4 = t4.n) t4.S.U(t4);
      }
    }
  };
  j2.prototype.N = function() {
    if (!(2 & this.f)) {
      this.f |= 6;
      for (var i4 = this.t; void 0 !== i4; i4 = i4.x) i4.t.N();
    }
  };
  Object.defineProperty(j2.prototype, "value", { get: function() {
    if (1 & this.f) throw new Error("Cycle detected");
    var i4 = d3(this);
    this.h();
    if (void 0 !== i4) i4.i = this.i;
    if (16 & this.f) throw this.v;
    return this.v;
  } });
  function O(i4, t4) {
    return new j2(i4, t4);
  }
  function p3(i4) {
    var r4 = i4.j;
    i4.j = void 0;
    if ("function" == typeof r4) {
      v3++;
      var n3 = o3;
      o3 = void 0;
      try {
        r4();
      } catch (t4) {
        i4.f &= -2;
        i4.f |= 8;
        g3(i4);
        throw t4;
      } finally {
        o3 = n3;
        t3();
      }
    }
  }
  function g3(i4) {
    for (var t4 = i4.s; void 0 !== t4; t4 = t4.n) t4.S.U(t4);
    i4.x = void 0;
    i4.s = void 0;
    p3(i4);
  }
  function S2(i4) {
    if (o3 !== this) throw new Error("Out-of-order effect");
    _3(this);
    o3 = i4;
    this.f &= -2;
    try {
      if (8 & this.f) g3(this);
    } finally {
      t3();
    }
  }
  function m3(i4, t4) {
    this.x = i4;
    this.j = void 0;
    this.s = void 0;
    this.u = void 0;
    this.f = 32;
    this.name = null == t4 ? void 0 : t4.name;
    if (n2) n2.push(this);
  }
  m3.prototype.c = function() {
    var i4 = this.S();
    try {
      if (8 & this.f) return;
      if (void 0 === this.x) return;
      var t4 = this.x();
      if ("function" == typeof t4) this.j = t4;
    } finally {
      i4();
    }
  };
  m3.prototype.S = function() {
    if (1 & this.f) throw new Error("Cycle detected");
    this.f |= 1;
    this.f &= -9;
    p3(this);
    b(this);
    v3++;
    var i4 = o3;
    o3 = this;
    return S2.bind(this, i4);
  };
  m3.prototype.N = function() {
    if (!(2 & this.f)) {
      this.f |= 2;
      this.u = h3;
      h3 = this;
    }
  };
  m3.prototype.d = function() {
    this.f |= 8;
    if (!(1 & this.f)) g3(this);
  };
  m3.prototype.dispose = function() {
    this.d();
  };
  function x2(i4, t4) {
    var r4 = new m3(i4, t4);
    try {
      r4.c();
    } catch (i5) {
      r4.d();
      throw i5;
    }
    var n3 = r4.d.bind(r4);
    n3[Symbol.dispose] = n3;
    return n3;
  }

  // node_modules/@preact/signals/dist/signals.module.js
  var h4;
  var d4;
  var p4;
  var m4 = "undefined" != typeof window && !!window.__PREACT_SIGNALS_DEVTOOLS__;
  var g4 = [];
  x2(function() {
    h4 = this.N;
  })();
  function b2(i4, n3) {
    n[i4] = n3.bind(null, n[i4] || function() {
    });
  }
  function y4(i4) {
    if (p4) {
      var n3 = p4;
      p4 = void 0;
      n3();
    }
    p4 = i4 && i4.S();
  }
  function w4(i4) {
    var n3 = this, r4 = i4.data, t4 = useSignal(r4);
    t4.name = "ReactiveDom";
    t4.value = r4;
    var e4 = w2(function() {
      var i5 = n3, r5 = n3.__v;
      while (r5 = r5.__) if (r5.__c) {
        r5.__c.__$f |= 4;
        break;
      }
      var o5 = O(function() {
        var i6 = t4.value.value;
        return 0 === i6 ? 0 : true === i6 ? "" : i6 || "";
      }), e5 = O(function() {
        return !Array.isArray(o5.value) && !r(o5.value);
      }), u5 = x2(function() {
        this.N = M;
        if (e5.value) {
          var n4 = o5.value;
          if (i5.__v && i5.__v.__e && 3 === i5.__v.__e.nodeType) i5.__v.__e.data = n4;
        }
      }), c5 = n3.__$u.d;
      n3.__$u.d = function() {
        u5();
        c5.call(this);
      };
      return [e5, o5];
    }, []), u4 = e4[0], c4 = e4[1];
    return u4.value ? c4.peek() : c4.value;
  }
  w4.displayName = "ReactiveTextNode";
  Object.defineProperties(l3.prototype, { constructor: { configurable: true, value: k($, null).constructor }, type: { configurable: true, value: w4 }, props: { configurable: true, get: function() {
    var i4 = this;
    return { data: { get value() {
      return i4.value;
    } } };
  } }, __b: { configurable: true, value: 1 } });
  b2("__b", function(i4, n3) {
    y4();
    d4 = void 0;
    if ("string" == typeof n3.type) {
      var r4, t4 = n3.props;
      for (var f5 in t4) if ("children" !== f5) {
        var o5 = t4[f5];
        if (o5 instanceof l3) {
          if (!r4) n3.__np = r4 = {};
          r4[f5] = o5;
          t4[f5] = o5.peek();
        }
      }
    }
    i4(n3);
  });
  b2("__r", function(i4, r4) {
    i4(r4);
    if (r4.type !== $) {
      y4();
      var t4, f5 = r4.__c;
      if (f5) {
        f5.__$f &= -2;
        if (void 0 === (t4 = f5.__$u)) f5.__$u = t4 = (function(i5, n3) {
          var r5;
          x2(function() {
            r5 = this;
          }, { name: n3 });
          r5.c = i5;
          return r5;
        })(/* @__PURE__ */ (function(i5) {
          return function() {
            var n3;
            if (m4) null == (n3 = this.y) || n3.call(this);
            i5.__$f |= 1;
            i5.setState({});
          };
        })(f5), "function" == typeof r4.type ? r4.type.displayName || r4.type.name : "");
      }
      d4 = f5;
      y4(t4);
    }
  });
  b2("__e", function(i4, n3, r4, t4) {
    y4();
    d4 = void 0;
    i4(n3, r4, t4);
  });
  b2("diffed", function(i4, n3) {
    y4();
    d4 = void 0;
    var r4;
    if ("string" == typeof n3.type && (r4 = n3.__e)) {
      var t4 = n3.__np, f5 = n3.props, o5 = r4.U;
      if (o5) for (var e4 in o5) {
        var u4 = o5[e4];
        if (!(void 0 === u4 || t4 && e4 in t4)) {
          u4.d();
          o5[e4] = void 0;
        }
      }
      if (t4) {
        if (!o5) {
          o5 = {};
          r4.U = o5;
        }
        for (var a5 in t4) {
          var c4 = o5[a5], v4 = t4[a5];
          if (void 0 === c4) {
            c4 = k3(r4, a5, v4, f5);
            o5[a5] = c4;
          } else c4.o(v4, f5);
        }
      }
    }
    i4(n3);
  });
  function k3(i4, n3, r4, t4) {
    var f5 = n3 in i4 && void 0 === i4.ownerSVGElement, o5 = y3(r4);
    return { o: function(i5, n4) {
      o5.value = i5;
      t4 = n4;
    }, d: x2(function() {
      this.N = M;
      var r5 = o5.value.value;
      if (t4[n3] !== r5) {
        t4[n3] = r5;
        if (f5) i4[n3] = r5;
        else if (null != r5 && (false !== r5 || "-" === n3[4])) i4.setAttribute(n3, r5);
        else i4.removeAttribute(n3);
      }
    }) };
  }
  b2("unmount", function(i4, n3) {
    if ("string" == typeof n3.type) {
      var r4 = n3.__e;
      if (r4) {
        var t4 = r4.U;
        if (t4) {
          r4.U = void 0;
          for (var f5 in t4) {
            var o5 = t4[f5];
            if (o5) o5.d();
          }
        }
      }
      var e4 = n3.__np;
      if (e4) {
        var u4 = n3.props;
        for (var a5 in e4) u4[a5] = e4[a5];
      }
      n3.__np = void 0;
    } else {
      var c4 = n3.__c;
      if (c4) {
        c4.__$f |= 8;
        var v4 = c4.__$u;
        if (v4) {
          c4.__$u = void 0;
          v4.d();
        }
      }
    }
    i4(n3);
  });
  b2("__h", function(i4, n3, r4, t4) {
    if (t4 < 3) n3.__$f |= 2;
    i4(n3, r4, t4);
  });
  x.prototype.shouldComponentUpdate = function(i4, n3) {
    if (this.__R) return true;
    var r4 = this.__$u, t4 = r4 && void 0 !== r4.s;
    for (var f5 in n3) return true;
    if (this.__f || "boolean" == typeof this.u && true === this.u) {
      var o5 = 2 & this.__$f;
      if (!(t4 || o5 || 4 & this.__$f)) return true;
      if (1 & this.__$f) return true;
    } else {
      if (!(t4 || 4 & this.__$f)) return true;
      if (3 & this.__$f) return true;
    }
    for (var e4 in i4) if ("__source" !== e4 && i4[e4] !== this.props[e4]) return true;
    for (var u4 in this.props) if (!(u4 in i4)) return true;
    return false;
  };
  function useSignal(i4, n3) {
    return w2(function() {
      return y3(i4, n3);
    }, []);
  }
  var A3 = function(i4) {
    queueMicrotask(function() {
      queueMicrotask(i4);
    });
  };
  function F3() {
    r3(function() {
      var i4;
      while (i4 = g4.shift()) h4.call(i4);
    });
  }
  function M() {
    if (1 === g4.push(this)) (n.requestAnimationFrame || A3)(F3);
  }

  // src/address.ts
  var SCREENS = ["sessions", "session", "search", "records", "backtests", "login"];
  var TABS = ["transcript", "window", "diff", "what-if", "chart", "events", "proof", "forks"];
  var inFile = document.getElementById("ledger-file") !== null;
  var place = y3(read());
  var following = O(() => place.value.v === null);
  function read() {
    const text = inFile ? location.hash.replace(/^#/, "").split("~")[0] : location.search;
    const asked3 = new URLSearchParams(text);
    const last = location.pathname.split("/").pop() ?? "";
    const named = inFile ? asked3.get("screen") : last === "ui" || last === "" ? "sessions" : last;
    const screen = SCREENS.includes(named) ? named : inFile ? "session" : "sessions";
    const tab = asked3.get("tab");
    return {
      screen,
      ns: asked3.get("ns"),
      user: asked3.get("user"),
      id: asked3.get("id"),
      v: whole(asked3.get("v")),
      sel: asked3.get("sel"),
      tab: TABS.includes(tab) ? tab : "transcript",
      a: whole(asked3.get("a")),
      typed: typed()
    };
  }
  function typed() {
    const text = location.hash.replace(/^#/, "");
    const part = inFile ? text.split("~")[1] ?? "" : text;
    try {
      return decodeURIComponent(part);
    } catch {
      return "";
    }
  }
  function whole(text) {
    return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
  }
  function address(to) {
    const asked3 = new URLSearchParams();
    if (inFile && to.screen !== "session") asked3.set("screen", to.screen);
    for (const name of ["ns", "user", "id"]) if (to[name] !== null) asked3.set(name, to[name]);
    if (to.screen === "session") {
      if (to.v !== null) asked3.set("v", String(to.v));
      if (to.sel !== null) asked3.set("sel", to.sel);
      if (to.tab !== "transcript") asked3.set("tab", to.tab);
      if (to.a !== null) asked3.set("a", String(to.a));
    }
    const text = asked3.toString();
    const fragment = to.typed ? encodeURIComponent(to.typed) : "";
    if (inFile) return `#${text}${fragment ? `~${fragment}` : ""}`;
    return `${to.screen}${text ? `?${text}` : ""}${fragment ? `#${fragment}` : ""}`;
  }
  var pushed = 0;
  function go(change2) {
    const to = { ...place.value, ...change2.tab ? { typed: "" } : {}, ...change2 };
    const now = Date.now();
    const steps = Object.keys(change2).every((name) => name === "v" || name === "sel" || name === "typed");
    const href = address(to);
    if (steps && now - pushed < 1e3) history.replaceState(null, "", href);
    else history.pushState(null, "", href);
    if (steps) pushed = now;
    place.value = to;
  }
  function correct(change2) {
    const to = { ...place.value, ...change2 };
    history.replaceState(null, "", address(to));
    place.value = to;
  }
  function elsewhere(screen, change2 = {}) {
    const { ns } = place.value;
    return { screen, ns, user: null, id: null, v: null, sel: null, tab: "transcript", a: null, typed: "", ...change2 };
  }
  function link(event, to) {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    history.pushState(null, "", address(to));
    place.value = to;
  }
  addEventListener("popstate", () => {
    place.value = read();
  });
  addEventListener("hashchange", () => {
    if (inFile) place.value = read();
  });

  // src/columns.ts
  var NEVER = 4294967295;
  var Columns = class {
    size = 0;
    version = 0;
    newest = 0;
    added = new Uint32Array(1024);
    left = new Uint32Array(1024);
    leaving = new Uint32Array(1024);
    // index into `leavings`
    kind = new Uint8Array(1024);
    role = new Uint8Array(1024);
    tokens = new Uint32Array(1024);
    ms = new Float64Array(1024);
    turn = new Uint32Array(1024);
    kinds = [];
    roles = [];
    leavings = [];
    clears = [];
    summaries = [];
    marks = [];
    edits = [];
    turns = [];
    // the version at which each turn begins
    absences = /* @__PURE__ */ new Map();
    // by row, oldest first
    byId = /* @__PURE__ */ new Map();
    compactedAt = null;
    keptOf = null;
    /** Applies the next page; pages come in order. */
    apply(page) {
      const kinds = page.kinds.map((name) => code(this.kinds, name));
      const roles = page.roles.map((name) => code(this.roles, name));
      const { entries } = page;
      let version2 = page.after;
      let ms = page.start_ms;
      for (let i4 = 0; i4 < entries.added.length; i4++) {
        version2 += entries.added[i4];
        ms += entries.ms[i4];
        const row = this.room();
        this.added[row] = version2;
        this.left[row] = NEVER;
        this.kind[row] = kinds[entries.kind[i4]];
        this.role[row] = roles[entries.role[i4]];
        this.tokens[row] = entries.tokens[i4];
        this.ms[row] = ms;
        if (this.kindOf(row) === "message" && this.roleOf(row) === "user") this.turns.push(version2);
        this.turn[row] = this.turns.length;
      }
      for (const summary of page.summaries) {
        const lived = { ...summary, endedVersion: NEVER, endedCause: null };
        this.summaries.push(lived);
        this.byId.set(summary.summary_id, lived);
      }
      for (const ended of page.ended) this.end(ended);
      const backs = [...page.returned];
      for (const leave of page.left) {
        while (backs.length && backs[0].version < leave.version) this.bringBack(backs.shift());
        const leaving = {
          version: leave.version,
          cause: leave.cause,
          key: leave.key,
          summary: leave.summary_id
        };
        const index = this.leavings.push(leaving);
        if (leaving.cause === "cleared") this.clears.push(leaving);
        for (const [first, last] of leave.versions) {
          for (let row = this.rowAtOrAfter(first); row < this.size && this.added[row] <= last; row++) {
            if (this.left[row] === NEVER) {
              this.left[row] = leave.version;
              this.leaving[row] = index - 1;
            }
          }
        }
      }
      for (const back2 of backs) this.bringBack(back2);
      for (const edit of page.edited) {
        const row = this.rowOf(edit.entry);
        if (row < 0) continue;
        this.edits.push({ version: edit.version, row, tokens: edit.tokens });
        if (edit.role !== null) this.role[row] = code(this.roles, edit.role);
      }
      this.marks.push(...page.marks);
      this.version = page.version;
      this.newest = page.newest;
      this.keptOf = null;
    }
    kindOf(row) {
      return this.kinds[this.kind[row]];
    }
    roleOf(row) {
      return this.roles[this.role[row]];
    }
    /** Whether a row is what the model answered, and not a call of a tool. */
    isAnswer(row) {
      return this.roleOf(row) === "assistant" && this.kindOf(row) !== "tool_call";
    }
    summary(id) {
      return this.byId.get(id);
    }
    /** The first row whose version is at least `version`. */
    rowAtOrAfter(version2) {
      let low = 0;
      let high = this.size;
      while (low < high) {
        const middle = low + high >> 1;
        if (this.added[middle] < version2) low = middle + 1;
        else high = middle;
      }
      return low;
    }
    /** The row of the entry added at `version`, or -1. */
    rowOf(version2) {
      const row = this.rowAtOrAfter(version2);
      return row < this.size && this.added[row] === version2 ? row : -1;
    }
    /** How many rows there were at `version`. */
    countAt(version2) {
      return this.rowAtOrAfter(version2 + 1);
    }
    isActive(row, version2) {
      return this.added[row] <= version2 && version2 < this.left[row] && !this.absence(row, version2);
    }
    /** Whether an entry came, left or returned at `version`. */
    movedAt(row, version2) {
      const away = this.absences.get(row) ?? [];
      return this.added[row] === version2 || this.left[row] === version2 || away.some((each) => each.left === version2 || each.back === version2);
    }
    /** The number of tokens that an entry had at `version`: an edit changes it. */
    tokensAt(row, version2) {
      let tokens = this.tokens[row];
      for (const edit of this.edits) if (edit.row === row && edit.version <= version2) tokens = edit.tokens;
      return tokens;
    }
    /** What became of a row by `version`, given which active entries are shown then. */
    fate(row, version2, shown) {
      const leaving = this.leavingOf(row, version2);
      if (leaving) return leaving.cause;
      if (shown === null || contains(shown, this.added[row])) return "shown";
      return "hidden";
    }
    /** Until which version a summary, or one that folded it, stood for the entries of a leaving. */
    behindUntil(leaving) {
      let summary = leaving.summary ? this.byId.get(leaving.summary) : void 0;
      while (summary && summary.endedCause === "folded") {
        const { summary_id, endedVersion } = summary;
        const next = this.summaries.find((each) => each.version === endedVersion && each.folds.includes(summary_id));
        if (!next) break;
        summary = next;
      }
      return summary ? summary.endedVersion : 0;
    }
    /** Why a row is out of the window; a clear is the last word on all that came before it. */
    leavingOf(row, version2) {
      const cleared = this.clears.find((each) => each.version > this.added[row]);
      if (cleared && cleared.version <= version2) return cleared;
      const index = this.leavingIndex(row, version2);
      return index < 0 ? null : this.leavings[index];
    }
    /** The index in `leavings` of how a row that had been added left, or -1 if it was in the window at `version`. */
    leavingIndex(row, version2) {
      if (this.left[row] <= version2) return this.leaving[row];
      return this.absence(row, version2)?.leaving ?? -1;
    }
    liveSummaries(version2) {
      return this.summaries.filter((each) => each.version <= version2 && version2 < each.endedVersion);
    }
    turnAt(version2) {
      let low = 0;
      let high = this.turns.length;
      while (low < high) {
        const middle = low + high >> 1;
        if (this.turns[middle] <= version2) low = middle + 1;
        else high = middle;
      }
      return low;
    }
    timeAt(version2) {
      const row = this.rowAtOrAfter(version2 + 1) - 1;
      const mark = this.marks.findLast((each) => each.version <= version2);
      const times = [row >= 0 ? this.ms[row] : null, mark ? mark.ms : null].filter((ms) => ms !== null);
      return times.length ? Math.max(...times) : null;
    }
    /** The newest version whose event was recorded at `ms` or before. */
    versionAt(ms) {
      let low = 0;
      let high = this.size;
      while (low < high) {
        const middle = low + high >> 1;
        if (this.ms[middle] <= ms) low = middle + 1;
        else high = middle;
      }
      let version2 = low ? this.added[low - 1] : 0;
      for (const mark of this.marks) if (mark.ms <= ms) version2 = Math.max(version2, mark.version);
      return version2;
    }
    /** Tokens of the active entries and live summaries after each version; index 0 is before the first. */
    kept() {
      if (this.keptOf?.version === this.version) return this.keptOf.kept;
      const change2 = new Float64Array(this.version + 2);
      const now = this.tokens.slice(0, this.size);
      const add = (version2, tokens) => {
        if (version2 <= this.version) change2[version2] += tokens;
      };
      for (const edit of this.edits) {
        if (edit.version < this.left[edit.row]) add(edit.version, edit.tokens - now[edit.row]);
        now[edit.row] = edit.tokens;
      }
      for (let row = 0; row < this.size; row++) {
        add(this.added[row], this.tokens[row]);
        if (this.left[row] !== NEVER) add(this.left[row], -now[row]);
      }
      for (const [row, away] of this.absences)
        for (const each of away) {
          const tokens = this.tokensAt(row, each.left);
          add(each.left, -tokens);
          add(each.back, tokens);
        }
      for (const each of this.summaries) {
        add(each.version, each.tokens);
        if (each.endedVersion !== NEVER) add(each.endedVersion, -each.tokens);
      }
      for (let version2 = 1; version2 < change2.length; version2++) change2[version2] += change2[version2 - 1];
      this.keptOf = { version: this.version, kept: change2 };
      return change2;
    }
    /** The versions of all compactions, ascending. */
    compactions() {
      if (this.compactedAt?.version === this.version) return this.compactedAt.versions;
      const found = new Set(this.summaries.map((each) => each.version));
      for (const each of this.leavings) if (each.cause === "covered" || each.cause === "erased") found.add(each.version);
      this.compactedAt = { version: this.version, versions: [...found].sort((a5, b3) => a5 - b3) };
      return this.compactedAt.versions;
    }
    absence(row, version2) {
      return this.absences.get(row)?.find((each) => each.left <= version2 && version2 < each.back);
    }
    bringBack({ version: version2, versions }) {
      for (const [first, last] of versions) {
        for (let row = this.rowAtOrAfter(first); row < this.size && this.added[row] <= last; row++) {
          if (this.left[row] === NEVER) continue;
          const away = this.absences.get(row) ?? [];
          this.absences.set(row, [...away, { left: this.left[row], leaving: this.leaving[row], back: version2 }]);
          this.left[row] = NEVER;
        }
      }
    }
    /** Ends a summary, or without an id all that live. */
    end(ended) {
      const { summary_id } = ended;
      for (const lived of summary_id === null ? this.summaries : [this.byId.get(summary_id)]) {
        if (!lived || lived.endedVersion !== NEVER || lived.version > ended.version) continue;
        lived.endedVersion = ended.version;
        lived.endedCause = ended.cause;
      }
    }
    room() {
      if (this.size === this.added.length) {
        const larger = this.size * 2;
        this.added = grown(this.added, new Uint32Array(larger));
        this.left = grown(this.left, new Uint32Array(larger));
        this.leaving = grown(this.leaving, new Uint32Array(larger));
        this.tokens = grown(this.tokens, new Uint32Array(larger));
        this.turn = grown(this.turn, new Uint32Array(larger));
        this.kind = grown(this.kind, new Uint8Array(larger));
        this.role = grown(this.role, new Uint8Array(larger));
        this.ms = grown(this.ms, new Float64Array(larger));
      }
      return this.size++;
    }
  };
  function grown(old, larger) {
    larger.set(old);
    return larger;
  }
  function code(names, name) {
    const at = names.indexOf(name);
    return at >= 0 ? at : names.push(name) - 1;
  }
  function contains(ranges, version2) {
    let low = 0;
    let high = ranges.length;
    while (low < high) {
      const middle = low + high >> 1;
      if (ranges[middle][0] <= version2) low = middle + 1;
      else high = middle;
    }
    return low > 0 && version2 <= ranges[low - 1][1];
  }
  function sizeOf(ranges) {
    return ranges.reduce((sum, [first, last]) => sum + last - first + 1, 0);
  }
  function written(ranges) {
    return ranges.map(([first, last]) => first === last ? `${first}` : `${first}–${last}`).join(", ");
  }

  // src/source.ts
  var Refused = class extends Error {
    constructor(status, code2, message) {
      super(message);
      this.status = status;
      this.code = code2;
    }
    status;
    code;
  };
  var indexAge = y3(null);
  var BUSY_MS = 500;
  var BUSY_TRIES = 20;
  var ROOT = "../";
  function queryOf(query, many = null) {
    const asked3 = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) {
      if (value !== null && value !== void 0 && value !== "") asked3.set(name, String(value));
    }
    for (const value of many?.[1] ?? []) asked3.append(many?.[0], value);
    const text = asked3.toString();
    return text && `?${text}`;
  }
  var ServiceSource = class {
    kind = "service";
    csrf = null;
    of(key, path, query = {}, many = null) {
      const names = { namespace: key.ns, user_id: key.user };
      return `v1/sessions/${encodeURIComponent(key.id)}${path}${queryOf({ ...names, ...query }, many)}`;
    }
    async ask(method, path, signal, body, headers = {}) {
      if (method === "POST") {
        headers["content-type"] = "application/json";
        if (this.csrf === null && !path.startsWith("ui/")) await this.renew();
        if (this.csrf) headers["x-csrf-token"] = this.csrf;
      }
      let response;
      try {
        response = await fetch(ROOT + path, {
          method,
          headers,
          signal,
          credentials: "same-origin",
          body: body === void 0 ? void 0 : JSON.stringify(body)
        });
      } catch (fault) {
        if (signal?.aborted) throw fault;
        throw new Refused(0, "unreachable", "The service does not answer. Start it again, or check the network.");
      }
      if (!response.ok) {
        const problem2 = await response.json().catch(() => ({}));
        const detail = problem2.detail ?? problem2.title ?? `The service answered ${response.status}.`;
        throw new Refused(response.status, problem2.code ?? "", detail);
      }
      if (/^v1\/(sessions|search|long-term-memory\/search)(\?|$)/.test(path)) indexAge.value = response.headers.get("ledger-index-age");
      return response;
    }
    /** As `post`, after what this reader asked before has ended: the service does one at a time. */
    async postInTurn(path, body, signal) {
      for (let tries = 0; ; tries++) {
        try {
          return await this.post(path, body, signal);
        } catch (fault) {
          if (!(fault instanceof Refused && fault.code === "busy") || tries === BUSY_TRIES) throw fault;
          await new Promise((done) => setTimeout(done, BUSY_MS));
        }
      }
    }
    async get(path, signal) {
      return (await this.ask("GET", path, signal)).json();
    }
    async post(path, body, signal) {
      return (await this.ask("POST", path, signal, body)).json();
    }
    async renew() {
      const answer = await fetch(`${ROOT}ui/csrf`, { credentials: "same-origin" }).catch(() => null);
      this.csrf = answer?.ok ? (await answer.json()).csrf ?? "" : "";
    }
    async login(secret) {
      const path = new URL(ROOT, location.href).pathname;
      const answer = await this.post("ui/login", { ...secret, path });
      this.csrf = answer.csrf;
    }
    async logout() {
      await this.renew();
      await this.ask("POST", "ui/logout", void 0, { path: new URL(ROOT, location.href).pathname });
      this.csrf = null;
    }
    me = () => this.get("v1/me");
    sessions = (query, signal) => this.get(`v1/sessions${queryOf(query)}`, signal);
    timeline = (key, after, signal) => this.get(this.of(key, "/timeline", { after }), signal);
    window = (key, version2, offset, signal) => this.get(this.of(key, "/window", { version: version2, offset }), signal);
    windows = (key, after, limit, signal) => this.get(this.of(key, "/windows", { after, limit }), signal);
    entries = (key, from, limit, version2, signal) => this.get(this.of(key, "/entries", { from, limit, version: version2 }), signal);
    entry = (key, entryId, version2, signal) => this.get(this.of(key, `/entries/${encodeURIComponent(entryId)}`, { version: version2 }), signal);
    derived = (key, entryId, signal) => this.get(this.of(key, `/entries/${encodeURIComponent(entryId)}/derived`), signal);
    summaries = (key, version2, signal) => this.get(this.of(key, "/summaries", { version: version2, limit: 1e3 }), signal);
    summary = (key, summaryId, signal) => this.get(this.of(key, `/summaries/${encodeURIComponent(summaryId)}`), signal);
    find = (key, text, version2, after, signal) => this.post(this.of(key, "/find"), { text, version: version2, after, ignore_case: true }, signal);
    diff = (key, before, after, signal) => this.post(this.of(key, "/diff"), { before: { version: before }, after: { version: after } }, signal);
    whatIf = (key, asked3, signal) => this.postInTurn(this.of(key, "/what-if"), asked3, signal);
    trials = (key, configs, version2, signal) => this.postInTurn(this.of(key, "/trials"), { configs, version: version2 }, signal);
    presets = () => this.get("v1/presets");
    events = (key, query, types, signal) => this.get(this.of(key, "/events", query, ["type", types]), signal);
    stats = (key, version2) => this.get(this.of(key, "/stats", { version: version2 }));
    config = (key, version2) => this.get(this.of(key, "/config", { version: version2 }));
    family = (key) => this.get(this.of(key, "/family"));
    rebuild = (key, signal) => this.get(this.of(key, "/rebuild"), signal);
    reports = () => this.get("v1/reports");
    report = (name) => this.get(`v1/reports/${encodeURIComponent(name)}`);
    async verify(key, progress, signal) {
      const response = await this.ask("GET", this.of(key, "/verify-stream"), signal);
      for await (const { event, data } of serverSent(response)) {
        if (event === "progress") {
          const { checked, total } = JSON.parse(data);
          progress(checked, total);
        } else if (event === "verdict") return JSON.parse(data);
        else if (event === "error") throw new Refused(500, "", JSON.parse(data).detail ?? "The check failed.");
      }
      throw new Refused(0, "cut_off", "The check was cut off. Try again.");
    }
    async *lines(key, signal) {
      const response = await this.ask("GET", this.of(key, "/export"), signal);
      yield* linesOf(response);
    }
    follow(key, after, arrived, wentBack) {
      const stop = new AbortController();
      let newest = after;
      let last = "";
      const run2 = async () => {
        while (!stop.signal.aborted) {
          try {
            const path = this.of(key, "/events/stream", { after_version: Math.max(newest - 1, 0) });
            const response = await this.ask("GET", path, stop.signal, void 0, last ? { "last-event-id": last } : {});
            for await (const { id } of serverSent(response)) {
              last = id;
              const version2 = Number.parseInt(id, 10);
              if (version2 > newest) arrived(newest = version2);
            }
          } catch (fault) {
            if (stop.signal.aborted) return;
            if (fault instanceof Refused && (fault.code === "last_event_id_ahead" || fault.status === 404)) {
              wentBack();
              return;
            }
            if (fault instanceof Refused && fault.status >= 400 && fault.status < 500) return;
          }
          await new Promise((done) => setTimeout(done, 2e3));
        }
      };
      void run2();
      return () => stop.abort();
    }
    search = (query, text, signal) => this.post(`v1/search${queryOf({ namespace: query.namespace })}`, { query: text, top_k: 30 }, signal);
    async records(query, signal) {
      const offset = Number(query.offset ?? 0);
      const filter = { text: query.text ?? "", limit: 50, offset };
      if (query.user) filter.user_id = { eq: query.user };
      if (query.ns) filter.namespace = { eq: query.ns };
      const found = await this.post(
        "v1/long-term-memory/search",
        filter,
        signal
      );
      return { memories: found.memories, next: found.next_offset };
    }
    recordHistory = (ns, id) => this.get(`v1/long-term-memory/${encodeURIComponent(id)}/history${queryOf({ namespace: ns })}`);
  };
  async function* linesOf(response) {
    const reader = response.body.getReader();
    const decoder = new TextDecoder("utf-8", { fatal: true });
    let rest = "";
    for (; ; ) {
      const { done, value } = await reader.read();
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
      const lines = rest.split("\n");
      rest = lines.pop();
      yield* lines;
      if (done) break;
    }
    if (rest) yield rest;
  }
  async function* serverSent(response) {
    let message = { id: "", event: "message", data: "" };
    for await (const line of linesOf(response)) {
      const [, field, value] = /^([a-z]+): ?(.*)$/.exec(line.replace(/\r$/, "")) ?? [];
      if (field === "id") message.id = value;
      else if (field === "event") message.event = value;
      else if (field === "data") message.data += value;
      else if (line.trim() === "") {
        if (message.data || message.id) yield message;
        message = { id: "", event: "message", data: "" };
      }
    }
  }

  // src/source_file.ts
  var UNPACKED = 8;
  var NOT_HERE = (what) => new Refused(404, "not_in_file", `This file has no ${what}. Open the session with \`memory-ledger view\`.`);
  var FileSource = class _FileSource {
    constructor(index) {
      this.index = index;
    }
    index;
    kind = "file";
    held = /* @__PURE__ */ new Map();
    static found() {
      const element = document.getElementById("ledger-file");
      if (!element) return null;
      const index = JSON.parse(element.textContent ?? "null");
      if (place.peek().id === null) correct({ id: index.session_id, user: index.user_id, ns: index.namespace });
      return new _FileSource(index);
    }
    async text(name) {
      const known = this.held.get(name);
      if (known !== void 0) {
        this.held.delete(name);
        this.held.set(name, known);
        return known;
      }
      const element = document.querySelector(`script[data-block="${name}"]`);
      if (!element) throw NOT_HERE(name);
      const packed = Uint8Array.from(atob(element.textContent ?? ""), (sign) => sign.charCodeAt(0));
      const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
      const text = await new Response(stream).text();
      this.held.set(name, text);
      while (this.held.size > UNPACKED) this.held.delete(this.held.keys().next().value);
      return text;
    }
    async json(name) {
      return JSON.parse(await this.text(name));
    }
    named(kind) {
      return this.index.blocks.filter((each) => each.name.startsWith(`${kind}-`));
    }
    at(kind, version2) {
      return this.named(kind).find((each) => each.first <= version2 && version2 <= each.last);
    }
    own = () => this.json("session");
    me = async () => (await this.own()).me;
    presets = async () => {
      const tried = await this.tried();
      return { presets: tried.map(({ config }, index) => ({ name: `config-${index + 1}`, title: `config ${index + 1} of this file`, config })) };
    };
    family = async () => (await this.own()).family;
    rebuild = async () => (await this.own()).rebuild;
    async sessions() {
      throw NOT_HERE("list of sessions");
    }
    async timeline(_4, after) {
      const block = this.at("timeline", after + 1);
      if (!block) throw NOT_HERE(`version ${after + 1}`);
      return this.json(block.name);
    }
    async windows(_4, after, limit) {
      const calls2 = [];
      for (const block of this.named("windows")) calls2.push(...(await this.json(block.name)).calls);
      return { calls: calls2.filter((each) => each.version > after).slice(0, limit), next_after: null };
    }
    /** The window of a version; between model calls that of the newest call before. */
    async window(_4, version2, offset) {
      const blocks = this.named("contexts").filter((each) => each.first <= version2);
      const block = blocks.at(-1) ?? this.named("contexts")[0];
      if (!block) throw NOT_HERE("window");
      const found = await this.json(block.name);
      const versions = Object.keys(found).map(Number).sort((a5, b3) => a5 - b3);
      const known = versions.findLast((each) => each <= version2) ?? versions[0];
      const window2 = found[known];
      const items = await Promise.all(
        window2.items.slice(offset).map(async (item) => {
          if (item.kind !== "entry" || item.text !== null) return item;
          const entry = await this.row(item.version);
          return { ...item, text: (entry?.content ?? "").slice(0, 2e3) };
        })
      );
      return { ...window2, items };
    }
    async row(version2) {
      const block = this.at("entries", version2);
      if (!block) return void 0;
      return (await this.json(block.name)).entries.find((each) => each.version === version2);
    }
    async entries(_4, from, limit) {
      const entries = [];
      for (const block of this.named("entries")) {
        if (block.last < from) continue;
        for (const each of (await this.json(block.name)).entries) {
          if (each.version >= from && entries.length < limit) entries.push({ ...each, preview: (each.content ?? "").slice(0, 200), content: null });
        }
        if (entries.length >= limit) break;
      }
      return { entries, next_from: null, version: this.index.version };
    }
    async entry(_4, entryId, version2) {
      for (const block of this.named("entries")) {
        const row = (await this.json(block.name)).entries.find((each) => each.entry_id === entryId);
        if (!row) continue;
        const fates = this.index.blocks.find((each) => each.name === block.name.replace("entries", "fates"));
        const record = fates && (await this.json(fates.name))[entryId];
        if (record) {
          const changed = record.history.filter((each) => each.version <= version2).at(-1);
          return { ...record, content: changed?.content || record.content, fate: version2 === this.index.version ? record.fate : null };
        }
        return {
          ...row,
          content: row.content ?? "",
          tokenizer: "",
          recorded_at: row.created_at,
          metadata: null,
          history: [],
          fate: null,
          status: row.status
        };
      }
      throw NOT_HERE(`entry ${entryId}`);
    }
    /** What an entry reached, from the trees of the summaries and the recorded contexts of the file. */
    async derived(_4, entryId) {
      let version2 = 0;
      for (const block of this.named("entries")) {
        const row = (await this.json(block.name)).entries.find((each) => each.entry_id === entryId);
        if (row) version2 = row.version;
      }
      const reached = /* @__PURE__ */ new Map();
      const summaries = [];
      for (const block of this.named("trees")) {
        for (const tree of Object.values(await this.json(block.name))) {
          const direct = contains(tree.covered, version2);
          const via = tree.folds.filter((each) => reached.has(each));
          if (!direct && !via.length) continue;
          reached.set(tree.summary_id, via);
          summaries.push({ summary_id: tree.summary_id, version: tree.version, how: direct ? "covered" : "folded", via, live: tree.status === "live" });
        }
      }
      const { calls: calls2 } = await this.windows(_4, 0, Infinity);
      const contexts = [];
      for (const call of calls2.filter((each) => each.recorded)) {
        const via = call.summaries.filter((each) => reached.has(each));
        if (contains(call.shown, version2) || via.length) {
          contexts.push({ version: call.version, rendered_version: call.version, how: via.length ? "through a summary" : "shown", via });
        }
      }
      return { session_id: this.index.session_id, entry_id: entryId, versions: [version2], version: this.index.version, summaries, contexts };
    }
    async summaries() {
      const summaries = [];
      for (const block of this.named("summaries")) summaries.push(...(await this.json(block.name)).summaries);
      return { summaries, next_after: null };
    }
    async summary(_4, summaryId) {
      for (const block of this.named("trees")) {
        const found = (await this.json(block.name))[summaryId];
        if (found) return found;
      }
      throw NOT_HERE(`summary ${summaryId}`);
    }
    async find(_4, text, version2) {
      const matches = [];
      const wanted = text.toLowerCase();
      for (const block of this.named("entries")) {
        for (const each of (await this.json(block.name)).entries) {
          const at = (each.content ?? "").toLowerCase().indexOf(wanted);
          if (at >= 0 && each.version <= version2) {
            matches.push({ version: each.version, entry_id: each.entry_id, kind: each.kind, role: each.role, preview: (each.content ?? "").slice(at, at + 80), count: 1 });
          }
        }
      }
      return { matches, next_after: null, scanned_to: version2 };
    }
    /** What the windows of two versions show; prices and changes of data are not in the file. */
    async diff(key, before, after) {
      const [first, last] = [await this.window(key, before, 0), await this.window(key, after, 0)];
      const { summaries } = await this.summaries();
      const { stats } = await this.own();
      const side = async (own, other) => {
        const only = own.items.filter((item) => item.kind === "entry" && !contains(other.shown, item.version));
        const rows = await Promise.all(only.map((item) => this.row(item.version)));
        return {
          version: own.version,
          what_if: false,
          stats: { ...stats, total_tokens: own.tokens, active_entries: own.total + own.hidden_total, summaries: own.summaries.length },
          spent: { compactions: 0, model_calls: 0, input_tokens: 0, output_tokens: 0, cost_usd: null },
          budget: own.budget,
          only_entries: rows.filter((row) => row !== void 0).map((row) => ({ ...row, content: row.content ?? "" })),
          only_summaries: summaries.filter((each) => own.summaries.includes(each.summary_id) && !other.summaries.includes(each.summary_id))
        };
      };
      return { before: await side(first, last), after: await side(last, first), edited: [], config_changed: first.config_version !== last.config_version };
    }
    tried = () => this.index.blocks.some((each) => each.name === "what-ifs") ? this.json("what-ifs") : Promise.resolve([]);
    async whatIf(_4, asked3) {
      const wanted = JSON.stringify(asked3.config);
      const found = (await this.tried()).find(({ config }) => JSON.stringify(config) === wanted);
      if (!found) throw new Refused(404, "not_in_file", "A file from disk has only the what-ifs that `--config FILE` put into it.");
      return found.answer;
    }
    async trials() {
      const rows = (await this.tried()).map(({ answer }, index) => ({
        config: `config-${index + 1}`,
        ok: true,
        problem: null,
        strategy: answer.strategy,
        tokens: answer.difference.after.budget.tokens,
        peak_tokens: null,
        shown: null,
        compactions: answer.spent.compactions,
        calls: answer.spent.model_calls,
        cost_usd: answer.spent.cost_usd,
        estimated: answer.estimated
      }));
      return { rows };
    }
    async events(_4, query, types) {
      const events = [];
      const limit = query.limit ?? 100;
      for (const block of this.named("events").reverse()) {
        for (const text of (await this.text(block.name)).split("\n").filter(Boolean).reverse()) {
          const line = JSON.parse(text);
          if (!line.event_id) continue;
          const later = events.at(-1);
          if (later && later.version === line.version + 1) later.previous_hash = line.hash;
          if (line.version >= (query.before_version ?? Infinity) || events.length === limit) continue;
          if (types.length && !types.includes(line.type) || query.actor && line.actor !== query.actor) continue;
          events.push(await this.listed(line));
        }
        if (events.length === limit) break;
      }
      return { events, next_after: null, next_before: null, version: this.index.version };
    }
    async said(version2) {
      const block = this.at("texts", version2);
      return block ? (await this.json(block.name)).texts[version2 - block.first] : "";
    }
    async listed(line) {
      const content = line.content ? decoded(line.content, 16) : {};
      const payload = joined(decoded(line.structure, 0), content);
      const time = (us) => new Date(us / 1e3).toISOString();
      return {
        session_id: this.index.session_id,
        user_id: this.index.user_id,
        version: line.version,
        position: line.position,
        event_id: line.event_id,
        type: line.type,
        schema_version: line.schema_version,
        occurred_at: time(line.occurred_us),
        recorded_at: time(line.recorded_us),
        actor: line.actor,
        actor_claimed: false,
        write_id: payload.write_id ?? "",
        payload,
        previous_hash: "",
        hash: line.hash,
        text: await this.said(line.version),
        link: "unchecked"
      };
    }
    stats = async () => (await this.own()).stats;
    async config(_4, version2) {
      const { configs, config } = await this.own();
      return configs.filter((each) => each.version <= version2).at(-1) ?? config;
    }
    async verify() {
      return (await this.own()).verdict;
    }
    async *lines() {
      for (const block of this.named("events")) {
        for (const line of (await this.text(block.name)).split("\n")) if (line) yield line;
      }
    }
    follow() {
      return () => {
      };
    }
    async search() {
      throw NOT_HERE("search by meaning");
    }
    async records(_4) {
      throw NOT_HERE("long-term memory");
    }
    async recordHistory() {
      throw NOT_HERE("long-term memory");
    }
    async reports() {
      throw NOT_HERE("reports");
    }
    async report() {
      throw NOT_HERE("reports");
    }
    async login() {
    }
    async logout() {
    }
  };
  function decoded(base64, from) {
    const bytes = Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0));
    return JSON.parse(new TextDecoder().decode(bytes.subarray(from)));
  }
  function joined(structure, content) {
    if (Array.isArray(structure)) return structure.map((part, at) => joined(part, content[at]));
    const whole2 = { ...structure };
    for (const [name, value] of Object.entries(content)) whole2[name] = name in structure ? joined(structure[name], value) : value;
    return whole2;
  }

  // src/session_store.ts
  var source = FileSource.found() ?? new ServiceSource();
  var me = y3(null);
  var columns = y3(null);
  var calls = y3([]);
  var shownWindow = y3(null);
  var family = y3(null);
  var problem = y3(null);
  var loading = y3(null);
  var waiting = y3(0);
  var tick = y3(0);
  var session = O(
    () => {
      const { id, ns, user, screen } = place.value;
      return screen === "session" && id !== null ? { id, ns, user } : null;
    }
  );
  var version = O(() => {
    tick.value;
    const known = columns.value;
    if (!known) return 0;
    return Math.min(place.value.v ?? known.version, known.version);
  });
  function rangesAt(at) {
    const exact = shownWindow.value;
    if (exact && exact.version === at) return exact.shown;
    const call = callAt(at);
    return call ? call.version < at ? [...call.shown, [call.version + 1, at]] : call.shown : null;
  }
  function fateAt(known, row, at) {
    const exact = shownWindow.value?.version === at ? shownWindow.value : null;
    if (exact && known.added[row] <= at && contains(exact.shown, known.added[row])) return "shown";
    return known.fate(row, at, rangesAt(at));
  }
  function callAt(at) {
    const known = calls.value;
    let low = 0;
    let high = known.length;
    while (low < high) {
      const middle = low + high >> 1;
      if (known[middle].version <= at) low = middle + 1;
      else high = middle;
    }
    return low ? known[low - 1] : null;
  }
  function failed(fault) {
    if (fault instanceof DOMException && fault.name === "AbortError") return;
    const refused = fault instanceof Refused ? fault : new Refused(0, "broken", String(fault));
    problem.value = refused;
  }
  function sayItWentBack() {
    const now = problem.peek()?.message ?? "This is the session as it is now.";
    const text = `The log went back, as after a restore from a backup: what you saw here may be gone. ${now}`;
    problem.value = new Refused(0, "went_back", text);
  }
  var opening = new AbortController();
  var unfollow = () => {
  };
  async function open(key) {
    opening.abort();
    unfollow();
    opening = new AbortController();
    const { signal: stop } = opening;
    r3(() => {
      columns.value = null;
      calls.value = [];
      shownWindow.value = null;
      family.value = null;
      problem.value = null;
      waiting.value = 0;
      loading.value = "Reading the session…";
    });
    previews.clear();
    try {
      const fresh = new Columns();
      for (; ; ) {
        const page = await source.timeline(key, fresh.version, stop);
        fresh.apply(page);
        if (page.version >= page.newest) break;
        loading.value = `Reading the session: version ${page.version.toLocaleString("en")} of ${page.newest.toLocaleString("en")}…`;
      }
      r3(() => {
        columns.value = fresh;
        loading.value = null;
        tick.value++;
      });
      void readCalls(key, stop);
      source.family(key).then((found) => family.value = found, () => {
      });
      unfollow = source.follow(
        key,
        fresh.version,
        () => void grow(key, stop),
        () => void open(key).then(sayItWentBack)
      );
    } catch (fault) {
      if (!stop.aborted) {
        loading.value = null;
        failed(fault);
      }
    }
  }
  var ALL_CALLS = 1e3;
  var SAMPLES = 192;
  async function readCalls(key, stop) {
    const turns = columns.peek()?.turns ?? [];
    try {
      if (turns.length > ALL_CALLS) {
        for (const places of spread(SAMPLES)) {
          const found = [];
          for (const place2 of places) {
            const after = Math.max(0, turns[Math.floor(place2 * turns.length)] - 1);
            found.push(...(await source.windows(key, after, 1, stop)).calls);
          }
          addCalls(found);
        }
        return;
      }
      for (let after = calls.peek().at(-1)?.version ?? 0; after !== null; ) {
        const page = await source.windows(key, after, source.kind === "file" ? Infinity : 200, stop);
        addCalls(page.calls);
        after = page.next_after;
      }
    } catch (fault) {
      if (!stop.aborted && !(fault instanceof Refused)) failed(fault);
    }
  }
  function addCalls(found) {
    const known = new Map(calls.peek().map((each) => [each.version, each]));
    for (const each of found) known.set(each.version, each);
    calls.value = [...known.values()].sort((a5, b3) => a5.version - b3.version);
  }
  function* spread(count2) {
    yield [0.9999];
    for (let step2 = 1; step2 < count2; step2 *= 2) yield Array.from({ length: step2 }, (_4, i4) => (i4 + 0.5) / step2);
  }
  var growing = false;
  async function grow(key, stop) {
    const known = columns.value;
    if (growing || !known) return;
    growing = true;
    try {
      const before = known.version;
      let page = await source.timeline(key, known.version, stop);
      known.apply(page);
      while (page.version < page.newest) {
        page = await source.timeline(key, known.version, stop);
        known.apply(page);
      }
      r3(() => {
        if (place.value.v !== null || document.hidden) waiting.value += known.version - before;
        tick.value++;
      });
      void readCalls(key, stop);
    } catch (fault) {
      if (!stop.aborted) failed(fault);
    } finally {
      growing = false;
    }
  }
  var opened = null;
  var screenAndTab = O(() => `${place.value.screen} ${place.value.id} ${place.value.tab}`);
  var looked = screenAndTab.peek();
  function watch() {
    x2(() => {
      if (screenAndTab.value !== looked && problem.peek()?.status !== 401) problem.value = null;
      looked = screenAndTab.value;
    });
    x2(() => {
      const key = session.value;
      const name = key && JSON.stringify(key);
      if (name !== opened) {
        opened = name;
        if (key) void open(key);
        else {
          opening.abort();
          unfollow();
        }
      }
    });
    x2(() => {
      const key = session.value;
      const at = version.value;
      if (key && at && columns.value && shownWindow.peek()?.version !== at) askWindow(key, at);
    });
  }
  var PAUSE_MS = 100;
  var asking = false;
  function askWindow(key, at) {
    if (asking) return;
    asking = true;
    const pause = new Promise((done) => setTimeout(done, PAUSE_MS));
    source.window(key, at, 0).then((found) => {
      if (same(session.peek(), key) && version.peek() === at) shownWindow.value = found;
    }, failed).then(() => version.peek() === at ? null : pause).finally(() => {
      asking = false;
      const now = session.peek();
      if (now && version.peek() && !(same(now, key) && version.peek() === at)) askWindow(now, version.peek());
    });
  }
  var same = (one, other) => JSON.stringify(one) === JSON.stringify(other);
  var PAGE = 100;
  var PAGES = 60;
  var previews = /* @__PURE__ */ new Map();
  var previewed = y3(0);
  function preview(row) {
    const page = Math.floor(row / PAGE);
    const found = previews.get(page);
    return found?.rows?.[row % PAGE] ?? null;
  }
  function wantPreviews(first, last) {
    const key = session.peek();
    const known = columns.peek();
    if (!key || !known || known.size === 0) return;
    for (let page = Math.floor(first / PAGE); page <= Math.floor(Math.min(last, known.size - 1) / PAGE); page++) {
      const found = previews.get(page);
      const full = Math.min(known.size - page * PAGE, PAGE);
      if (found && (found.rows === null || found.rows.length >= full)) {
        previews.delete(page);
        previews.set(page, found);
        continue;
      }
      previews.set(page, { at: known.version, rows: found?.rows ?? null });
      source.entries(key, known.added[page * PAGE], full, known.version).then(
        (answer) => {
          if (session.peek()?.id !== key.id) return;
          previews.set(page, { at: known.version, rows: answer.entries });
          while (previews.size > PAGES) previews.delete(previews.keys().next().value);
          previewed.value++;
        },
        (fault) => {
          previews.delete(page);
          failed(fault);
        }
      );
    }
  }
  async function greet() {
    try {
      me.value = await source.me();
      problem.value = null;
    } catch (fault) {
      failed(fault);
    }
  }

  // node_modules/preact/jsx-runtime/dist/jsxRuntime.mjs
  var f4 = /* @__PURE__ */ Symbol.for("pv");
  var o4 = 0;
  function a4(t4, e4, n3, u4, a5, i4) {
    e4 || (e4 = {});
    var c4, l4, p5 = e4;
    if ("ref" in p5 && "function" != typeof t4) for (l4 in p5 = {}, e4) "ref" == l4 ? c4 = e4[l4] : p5[l4] = e4[l4];
    var s4 = { type: t4, props: p5, key: n3, ref: c4, __k: null, __: null, __b: 0, __e: null, __c: null, constructor: f4, __v: --o4, __i: -1, __u: 0 };
    return (a5 || i4) && (s4.__source = a5, s4.__self = i4), n.vnode && n.vnode(s4), s4;
  }

  // src/text.tsx
  var SHOWN = 64 * 1024;
  var HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]|[\u{1d173}-\u{1d17a}]|[\ud800-\udfff]/gu;
  var EMOJI = /\p{Extended_Pictographic}/u;
  var JOINING = /[\p{Script=Arabic}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Syriac}\p{Script=Malayalam}\p{Script=Kannada}\p{Script=Telugu}\p{Script=Sinhala}\p{Script=Mongolian}\p{Script=Tamil}\p{Script=Gujarati}\p{Script=Gurmukhi}\p{Script=Khmer}]/u;
  function belongs(text, at) {
    const sign = text[at];
    if (sign === "\r") return text[at + 1] === "\n";
    if (sign === "‌") return JOINING.test(text.slice(Math.max(0, at - 2), at));
    if (sign === "‍") {
      const before = text.slice(Math.max(0, at - 3), at);
      return JOINING.test(before) || EMOJI.test(before);
    }
    if (sign === "️" || sign === "︎") return /[\p{Extended_Pictographic}\d#*]/u.test(text.slice(Math.max(0, at - 2), at));
    return false;
  }
  function hiddenIn(text) {
    const found = [];
    for (const match of text.matchAll(HIDDEN)) {
      if (belongs(text, match.index)) continue;
      const point = match[0].codePointAt(0);
      found.push({ at: match.index, length: match[0].length, name: `U+${point.toString(16).toUpperCase().padStart(4, "0")}` });
    }
    return found;
  }
  function Chips({ text }) {
    const parts2 = [];
    let from = 0;
    for (const each of hiddenIn(text)) {
      if (each.at > from) parts2.push(text.slice(from, each.at));
      parts2.push(
        /* @__PURE__ */ a4("span", { class: "chip hidden-char", title: "a character that is not visible", children: each.name })
      );
      from = each.at + each.length;
    }
    parts2.push(text.slice(from));
    return /* @__PURE__ */ a4($, { children: parts2 });
  }
  function Line({ text }) {
    return /* @__PURE__ */ a4("bdi", { class: "line", dir: "auto", children: /* @__PURE__ */ a4(Chips, { text: text.replace(/\s+/g, " ") }) });
  }
  function Text({ text, label }) {
    const [all, setAll] = d2(false);
    const cut = !all && text.length > SHOWN;
    return /* @__PURE__ */ a4("div", { class: "text", children: [
      /* @__PURE__ */ a4("pre", { dir: "auto", tabIndex: 0, role: "group", "aria-label": label, children: /* @__PURE__ */ a4(Chips, { text: cut ? text.slice(0, SHOWN) : text }) }),
      cut && /* @__PURE__ */ a4("p", { class: "note", children: [
        "The first ",
        SHOWN.toLocaleString("en"),
        " of ",
        text.length.toLocaleString("en"),
        " characters.",
        " ",
        /* @__PURE__ */ a4("button", { type: "button", onClick: () => setAll(true), children: "Show all" })
      ] })
    ] });
  }
  function Json({ value, label }) {
    return /* @__PURE__ */ a4(Text, { text: JSON.stringify(value, null, 2) ?? "null", label });
  }
  function save(name, parts2) {
    const href = URL.createObjectURL(new Blob(parts2, { type: "text/plain" }));
    const anchor = document.createElement("a");
    anchor.href = href;
    anchor.download = name.replace(/[^A-Za-z0-9._-]/g, "_");
    anchor.click();
    setTimeout(() => URL.revokeObjectURL(href), 1e4);
  }

  // src/words.ts
  var groups = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
  var count = (number) => groups.format(number);
  function plural(number, one, many = `${one}s`) {
    return `${count(number)} ${number === 1 ? one : many}`;
  }
  function when(moment) {
    if (moment === null) return "";
    const date = new Date(moment);
    return `${date.toISOString().slice(0, 10)} ${date.toISOString().slice(11, 19)} UTC`;
  }
  var usd = (amount) => amount === null ? "no price" : `$${amount.toFixed(amount < 0.01 ? 5 : 3)}`;
  var FATES = {
    shown: { sign: "●", name: "in the window", means: "The model is shown it." },
    hidden: { sign: "○", name: "active, not shown", means: "It is in the session, but the window strategy leaves it out." },
    covered: { sign: "Σ", name: "behind a summary", means: "A compaction took it out of the window; a summary stands for it." },
    erased: { sign: "⌫", name: "erased from the window", means: "A compaction took it out of the window without a summary." },
    removed: { sign: "−", name: "removed", means: "Its writer took it out of the window." },
    cleared: { sign: "∅", name: "cleared", means: "The session was cleared." }
  };
  function speaker(kind, role) {
    if (kind === "system_instruction" || role === "system") return { letter: "S", name: "system", part: "system" };
    if (kind === "tool_call") return { letter: "C", name: "tool call", part: "tool" };
    if (kind === "tool_result") return { letter: "T", name: "tool result", part: "tool" };
    if (kind === "context") return { letter: "K", name: "context", part: "tool" };
    if (role === "user") return { letter: "U", name: "user", part: "user" };
    if (role === "assistant") return { letter: "A", name: "assistant", part: "assistant" };
    return { letter: role.slice(0, 1).toUpperCase(), name: role, part: "tool" };
  }

  // src/budget_bar.tsx
  var chosenPart = y3(null);
  var LETTERS = {
    system: "S",
    user: "U",
    assistant: "A",
    tool: "T",
    recalled: "R",
    summaries: "Σ",
    knowledge: "K"
  };
  function partOf(known, row, recalled) {
    if (contains(recalled, known.added[row])) return "recalled";
    return speaker(known.kindOf(row), known.roleOf(row)).part;
  }
  function parts(known, at) {
    const exact = shownWindow.value?.version === at ? shownWindow.value : null;
    const found = /* @__PURE__ */ new Map();
    const add = (part, tokens) => tokens && found.set(part, (found.get(part) ?? 0) + tokens);
    const shown = rangesAt(at) ?? [[1, at]];
    const recalled = exact?.recalled ?? [];
    for (const [first, last] of shown) {
      for (let row = known.rowAtOrAfter(first); row < known.size && known.added[row] <= last; row++) {
        add(partOf(known, row, recalled), known.tokens[row]);
      }
    }
    const summaries = exact ? exact.summaries : callAt(at)?.summaries ?? [];
    for (const id of summaries) add("summaries", known.summary(id)?.tokens ?? 0);
    if (exact) add("knowledge", exact.budget.knowledge);
    return { parts: found, limit: exact ? exact.budget.limit : callAt(at)?.limit ?? null, from: exact?.budget.limit_from ?? null };
  }
  function BudgetBar() {
    const known = columns.value;
    if (!known) return null;
    const at = version.value;
    const { parts: found, limit, from } = parts(known, at);
    const exact = shownWindow.value?.version === at ? shownWindow.value : null;
    const total = exact ? exact.tokens : [...found.values()].reduce((sum, each) => sum + each, 0);
    const whole2 = Math.max(total, limit ?? 0, 1);
    const free = limit === null ? 0 : Math.max(0, limit - total);
    return /* @__PURE__ */ a4("div", { class: "budget", role: "group", "aria-label": "Tokens of the window", "aria-busy": exact === null, children: [
      /* @__PURE__ */ a4("p", { class: "budget-total", children: [
        /* @__PURE__ */ a4("b", { children: count(total) }),
        limit !== null ? ` / ${count(limit)} tokens shown` : " tokens shown, no limit",
        from && /* @__PURE__ */ a4("span", { class: "muted", children: [
          " by ",
          from
        ] }),
        limit !== null && total > limit && /* @__PURE__ */ a4("span", { class: "warn", children: [
          " ",
          count(total - limit),
          " too many"
        ] })
      ] }),
      /* @__PURE__ */ a4("div", { class: "bar", role: "group", "aria-label": "Parts; choose one to see its rows", children: [
        Object.keys(LETTERS).map((part) => {
          const tokens = found.get(part) ?? 0;
          if (!tokens) return null;
          return /* @__PURE__ */ a4(
            "button",
            {
              type: "button",
              class: `part ${part}`,
              style: { flexGrow: tokens / whole2 },
              "aria-pressed": chosenPart.value === part,
              title: `${part}: ${count(tokens)} tokens`,
              "aria-label": `${part}: ${count(tokens)} tokens`,
              onClick: () => chosenPart.value = chosenPart.value === part ? null : part,
              children: /* @__PURE__ */ a4("span", { "aria-hidden": "true", children: LETTERS[part] })
            },
            part
          );
        }),
        free > 0 && /* @__PURE__ */ a4("span", { class: "part free", style: { flexGrow: free / whole2 }, title: `free: ${count(free)} tokens` })
      ] })
    ] });
  }

  // src/transcript.tsx
  var ROW = 28;
  var onlyWindow = y3(false);
  var onlyChanged = y3(false);
  var foundVersions = y3(null);
  var listed = O(() => {
    tick.value;
    const known = columns.value;
    const at = version.value;
    if (!known) return { rows: null, size: 0 };
    const there = known.countAt(at);
    const part = chosenPart.value;
    const found = foundVersions.value;
    if (!onlyWindow.value && !onlyChanged.value && part === null && found === null) return { rows: null, size: there };
    const recalled = shownWindow.value?.version === at ? shownWindow.value.recalled : [];
    const wanted = found && new Set(found);
    const rows = new Uint32Array(there);
    let size = 0;
    for (let row = 0; row < there; row++) {
      const inside = fateAt(known, row, at) === "shown";
      if (onlyWindow.value && !inside) continue;
      if (part !== null && !(inside && partOf(known, row, recalled) === part)) continue;
      if (onlyChanged.value && !changedBy(known, row, at)) continue;
      if (wanted && !wanted.has(known.added[row])) continue;
      rows[size++] = row;
    }
    return { rows: rows.subarray(0, size), size };
  });
  function changedBy(known, row, at) {
    return known.movedAt(row, at) || known.edits.some((each) => each.row === row && each.version === at);
  }
  var rowAt = (index) => listed.peek().rows ? listed.peek().rows[index] : index;
  function indexOfVersion(entry) {
    const known = columns.peek();
    const { rows, size } = listed.peek();
    if (!known) return -1;
    const row = known.rowOf(entry);
    if (!rows) return row < size ? row : -1;
    return rows.indexOf(row);
  }
  var selectedVersion = O(() => {
    const found = /^e(\d+)$/.exec(place.value.sel ?? "");
    return found ? Number(found[1]) : null;
  });
  function step(way) {
    const known = columns.peek();
    const { size } = listed.peek();
    if (!known || !size) return;
    const now = selectedVersion.peek();
    const index = now === null ? way > 0 ? -1 : size : indexOfVersion(now);
    const to = Math.min(size - 1, Math.max(0, index + way));
    go({ sel: `e${known.added[rowAt(to)]}` });
  }
  function placed(top, high, size, chosen) {
    const end = Math.max(0, size * ROW - high);
    const index = chosen === null ? -1 : indexOfVersion(chosen);
    if (chosen === null) return end;
    const row = index * ROW;
    const seen = index < 0 || row >= top && row + ROW <= top + high;
    return Math.min(end, seen ? top : Math.max(0, row - high / 2));
  }
  function Transcript() {
    const scroller = T2(null);
    const view = T2({ top: 0, high: 0, of: "", moves: 0 });
    const [, redraw] = d2(0);
    const known = columns.value;
    const { size } = listed.value;
    const at = version.value;
    previewed.value;
    const chosen = selectedVersion.value;
    const of = `${session.value?.id} ${at} ${size} ${chosen}`;
    if (known && view.current.of !== of) {
      view.current.of = of;
      view.current.moves++;
      view.current.top = placed(view.current.top, view.current.high, size, chosen);
    }
    F2(() => {
      const box = scroller.current;
      if (!box) return;
      const measure = () => {
        const now = view.current;
        const { scrollTop: top, clientHeight: high } = box;
        if (now.top === top && now.high === high) return;
        view.current = { ...now, top, high, of: now.high ? now.of : "" };
        redraw((before) => before + 1);
      };
      const observer = new ResizeObserver(measure);
      observer.observe(box);
      box.addEventListener("scroll", measure, { passive: true });
      return () => {
        observer.disconnect();
        box.removeEventListener("scroll", measure);
      };
    }, [known !== null]);
    F2(() => {
      if (scroller.current) scroller.current.scrollTop = view.current.top;
    }, [known, view.current.moves]);
    const first = Math.max(0, Math.floor(view.current.top / ROW) - 6);
    const last = Math.min(size, Math.ceil((view.current.top + view.current.high) / ROW) + 6);
    A2(() => {
      if (!known || !size) return;
      const { rows } = listed.peek();
      if (!rows) wantPreviews(first, last);
      else for (let i4 = first; i4 < last; i4++) wantPreviews(rows[i4], rows[i4]);
    }, [known, first, last, listed.value, known?.version]);
    if (!known) return null;
    const lines = [];
    const places = Math.ceil(view.current.high / ROW) + 13;
    for (let i4 = first; i4 < last; i4++) lines.push(/* @__PURE__ */ a4(Row, { known, row: rowAt(i4), index: i4, at, chosen }, i4 % places));
    return /* @__PURE__ */ a4("section", { class: "transcript", "aria-label": "Transcript", children: [
      /* @__PURE__ */ a4(Filters, { size, there: known.countAt(at) }),
      /* @__PURE__ */ a4(
        "div",
        {
          class: "rows",
          ref: scroller,
          role: "grid",
          "aria-label": "Entries",
          "aria-rowcount": size,
          "aria-colcount": 5,
          tabIndex: 0,
          children: /* @__PURE__ */ a4("div", { class: "rows-all", role: "rowgroup", style: { height: `${size * ROW}px` }, children: lines })
        }
      ),
      size === 0 && /* @__PURE__ */ a4("p", { class: "empty", children: "No entry matches. Clear the filters, or go to another version." })
    ] });
  }
  function open2(entry) {
    go({ sel: `e${entry}` });
    if (matchMedia("(max-width: 46rem)").matches) requestAnimationFrame(() => document.querySelector(".pane")?.scrollIntoView({ block: "start" }));
  }
  function Row({ known, row, index, at, chosen }) {
    previewed.value;
    tick.value;
    const added = known.added[row];
    const fate = fateAt(known, row, at);
    const said2 = speaker(known.kindOf(row), known.roleOf(row));
    const text = preview(row);
    const hidden = text ? hiddenIn(text.preview).length : 0;
    const tokens = known.edits.length ? known.tokensAt(row, at) : known.tokens[row];
    return /* @__PURE__ */ a4(
      "div",
      {
        class: `row fate-${fate}${changedBy(known, row, at) ? " changed" : ""}`,
        role: "row",
        "aria-rowindex": index + 1,
        "aria-selected": chosen === added,
        style: { top: `${index * ROW}px` },
        onClick: () => open2(added),
        children: [
          /* @__PURE__ */ a4("span", { role: "gridcell", class: "cell-version", children: added }),
          /* @__PURE__ */ a4("span", { role: "gridcell", class: "cell-fate", title: FATES[fate].name, children: [
            /* @__PURE__ */ a4("span", { "aria-hidden": "true", children: FATES[fate].sign }),
            /* @__PURE__ */ a4("span", { class: "sr", children: FATES[fate].name })
          ] }),
          /* @__PURE__ */ a4("span", { role: "gridcell", class: `cell-role ${said2.part}`, title: said2.name, children: [
            said2.letter,
            /* @__PURE__ */ a4("span", { class: "sr", children: [
              " ",
              said2.name
            ] })
          ] }),
          /* @__PURE__ */ a4("span", { role: "gridcell", class: "cell-text", children: [
            text?.tool_name && /* @__PURE__ */ a4("b", { class: "tool-name", children: [
              /* @__PURE__ */ a4(Line, { text: text.tool_name }),
              " "
            ] }),
            text ? /* @__PURE__ */ a4(Line, { text: text.preview }) : /* @__PURE__ */ a4("span", { class: "muted", children: "…" }),
            hidden > 0 && /* @__PURE__ */ a4("span", { class: "chip warn", title: "characters that are not visible", children: [
              "⚠",
              hidden,
              " hidden"
            ] })
          ] }),
          /* @__PURE__ */ a4("span", { role: "gridcell", class: "cell-tokens", children: count(tokens) })
        ]
      }
    );
  }
  function Filters({ size, there }) {
    const part = chosenPart.value;
    return /* @__PURE__ */ a4("div", { class: "filters", children: [
      /* @__PURE__ */ a4("label", { children: [
        /* @__PURE__ */ a4("input", { type: "checkbox", checked: onlyWindow.value, onChange: (event) => onlyWindow.value = event.currentTarget.checked }),
        " in the window"
      ] }),
      /* @__PURE__ */ a4("label", { children: [
        /* @__PURE__ */ a4("input", { type: "checkbox", checked: onlyChanged.value, onChange: (event) => onlyChanged.value = event.currentTarget.checked }),
        " ",
        "changed by this version"
      ] }),
      part && /* @__PURE__ */ a4("button", { type: "button", class: "chip", onClick: () => chosenPart.value = null, children: [
        part,
        " ✕"
      ] }),
      session.value && /* @__PURE__ */ a4("span", { class: "muted filter-count", children: size === there ? `${count(there)} entries` : `${count(size)} of ${count(there)} entries` })
    ] });
  }

  // src/pane.tsx
  var askedWhy = y3(0);
  function useAnswer(ask, on) {
    const [answer, setAnswer] = d2(null);
    A2(() => {
      if (!ask) {
        setAnswer(null);
        return;
      }
      const stop = new AbortController();
      ask(stop.signal).then((found) => !stop.signal.aborted && setAnswer(() => found), failed);
      return () => stop.abort();
    }, on);
    return answer;
  }
  function Pane() {
    const { sel } = place.value;
    const summary = sel?.startsWith("s:") ? sel.slice(2) : null;
    const entry = selectedVersion.value;
    if (summary !== null) return /* @__PURE__ */ a4(SummaryPane, { id: summary }, summary);
    if (entry !== null) return /* @__PURE__ */ a4(EntryPane, { entry }, entry);
    return /* @__PURE__ */ a4("aside", { class: "pane", "aria-label": "Details", children: /* @__PURE__ */ a4("p", { class: "empty", children: [
      "Choose a row to read all of it, and why it is in the window or not. ",
      /* @__PURE__ */ a4("kbd", { children: "j" }),
      " and ",
      /* @__PURE__ */ a4("kbd", { children: "k" }),
      " move, ",
      /* @__PURE__ */ a4("kbd", { children: "y" }),
      " asks why,",
      " ",
      /* @__PURE__ */ a4("kbd", { children: "?" }),
      " lists all keys."
    ] }) });
  }
  function EntryPane({ entry }) {
    const known = columns.value;
    const key = session.value;
    const at = version.value;
    previewed.value;
    const row = known ? known.rowOf(entry) : -1;
    const name = row >= 0 ? preview(row)?.entry_id ?? null : null;
    A2(() => {
      if (row >= 0 && name === null) wantPreviews(row, row);
    }, [row, name]);
    const found = useAnswer(key && name !== null ? (stop) => source.entry(key, name, at, stop) : null, [key?.id, name, at]);
    if (!known || row < 0 || !key) {
      return /* @__PURE__ */ a4("aside", { class: "pane", "aria-label": "Details", children: /* @__PURE__ */ a4("p", { class: "empty", children: [
        "There is no entry at version ",
        entry,
        "."
      ] }) });
    }
    const said2 = speaker(known.kindOf(row), known.roleOf(row));
    return /* @__PURE__ */ a4("aside", { class: "pane", "aria-label": "Details", children: [
      /* @__PURE__ */ a4("header", { children: [
        /* @__PURE__ */ a4("h2", { children: [
          "Entry ",
          /* @__PURE__ */ a4("code", { children: name ?? "…" })
        ] }),
        /* @__PURE__ */ a4("p", { class: "muted", children: [
          said2.name,
          " · version ",
          entry,
          " · turn ",
          known.turn[row],
          " · ",
          plural(known.tokensAt(row, at), "token"),
          " · ",
          when(known.ms[row])
        ] })
      ] }),
      /* @__PURE__ */ a4(Why, { row, found }),
      found === null ? /* @__PURE__ */ a4("p", { class: "muted", children: "Loading the text…" }) : /* @__PURE__ */ a4($, { children: [
        found.tool_name && /* @__PURE__ */ a4("p", { children: [
          "Tool ",
          /* @__PURE__ */ a4("code", { children: found.tool_name }),
          found.tool_status && ` · ${found.tool_status}`
        ] }),
        /* @__PURE__ */ a4(Text, { text: found.content, label: `Text of ${found.entry_id}` }),
        found.arguments !== null && /* @__PURE__ */ a4(Json, { value: found.arguments, label: "Arguments" }),
        found.data !== null && found.data !== void 0 && /* @__PURE__ */ a4("details", { children: [
          /* @__PURE__ */ a4("summary", { children: "Data" }),
          /* @__PURE__ */ a4(Json, { value: found.data, label: "Data" })
        ] }),
        found.metadata && /* @__PURE__ */ a4("details", { children: [
          /* @__PURE__ */ a4("summary", { children: "Metadata" }),
          /* @__PURE__ */ a4(Json, { value: found.metadata, label: "Metadata" })
        ] }),
        /* @__PURE__ */ a4(Changes, { found }),
        /* @__PURE__ */ a4(Reach, { entryId: found.entry_id }),
        /* @__PURE__ */ a4("p", { class: "actions", children: /* @__PURE__ */ a4("button", { type: "button", onClick: () => save(`${found.entry_id}.txt`, [found.content]), children: "Save the text" }) })
      ] })
    ] });
  }
  function Why({ row, found }) {
    const known = columns.value;
    const at = version.value;
    const asked3 = askedWhy.value;
    A2(() => {
      if (asked3) document.getElementById("why")?.focus();
    }, [asked3]);
    if (!known) return null;
    const fate = known.added[row] > at ? null : fateAt(known, row, at);
    const cause = known.leavingOf(row, at);
    const sentence = found?.fate?.sentence ?? (fate === null ? `Not added yet: it comes at version ${known.added[row]}.` : `${capital(FATES[fate].name)}. ${FATES[fate].means}`);
    return /* @__PURE__ */ a4("div", { class: `why fate-${fate ?? "none"}`, id: "why", tabIndex: -1, "aria-label": "Why", role: "group", children: [
      /* @__PURE__ */ a4("p", { children: [
        /* @__PURE__ */ a4("b", { "aria-hidden": "true", children: fate ? FATES[fate].sign : "◌" }),
        " ",
        sentence
      ] }),
      found?.fate && found.fate.reasons.length > 0 && /* @__PURE__ */ a4("p", { class: "muted", children: [
        "Reasons: ",
        found.fate.reasons.join(", ")
      ] }),
      /* @__PURE__ */ a4("p", { class: "actions", children: [
        cause?.summary && /* @__PURE__ */ a4("button", { type: "button", onClick: () => go({ sel: `s:${cause.summary}` }), children: "Summary and its tree" }),
        (cause || found?.fate?.version) && /* @__PURE__ */ a4("button", { type: "button", onClick: () => go({ tab: "events", typed: `v${cause?.version ?? found?.fate?.version}` }), children: "Event" }),
        cause && /* @__PURE__ */ a4("button", { type: "button", onClick: () => go({ v: cause.version }), children: [
          "Version ",
          cause.version
        ] }),
        fate === "hidden" && /* @__PURE__ */ a4("button", { type: "button", onClick: () => go({ tab: "what-if" }), children: "Try another strategy" })
      ] })
    ] });
  }
  var capital = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);
  function Changes({ found }) {
    if (found.history.length < 2) return null;
    return /* @__PURE__ */ a4("details", { children: [
      /* @__PURE__ */ a4("summary", { children: [
        plural(found.history.length, "event"),
        " about it"
      ] }),
      /* @__PURE__ */ a4("ol", { class: "changes", children: found.history.map((each) => /* @__PURE__ */ a4("li", { children: [
        /* @__PURE__ */ a4("button", { type: "button", class: "link", onClick: () => go({ v: each.version }), children: [
          "v",
          each.version
        ] }),
        " ",
        each.type,
        " · ",
        each.actor || "no actor",
        " · ",
        when(each.recorded_at)
      ] }, each.version)) })
    ] });
  }
  function Reach({ entryId }) {
    const [open3, setOpen] = d2(false);
    const key = session.value;
    const found = useAnswer(open3 && key ? (stop) => source.derived(key, entryId, stop) : null, [open3, entryId]);
    return /* @__PURE__ */ a4("details", { class: "reach", onToggle: (event) => setOpen(event.currentTarget.open), children: [
      /* @__PURE__ */ a4("summary", { children: "What it reached" }),
      open3 && found === null && /* @__PURE__ */ a4("p", { class: "muted", children: "Following it…" }),
      found && /* @__PURE__ */ a4($, { children: [
        /* @__PURE__ */ a4("p", { children: [
          plural(found.summaries.length, "summary", "summaries"),
          " and ",
          plural(found.contexts.length, "recorded context"),
          "."
        ] }),
        /* @__PURE__ */ a4("ul", { class: "tree", children: [
          found.summaries.map((each) => /* @__PURE__ */ a4("li", { children: [
            "Σ",
            " ",
            /* @__PURE__ */ a4("button", { type: "button", class: "link", onClick: () => go({ sel: `s:${each.summary_id}` }), children: each.summary_id }),
            " ",
            "v",
            each.version,
            " · ",
            each.how,
            each.via.length > 0 && ` through ${each.via.join(", ")}`,
            each.live && /* @__PURE__ */ a4("span", { class: "chip", children: "live" })
          ] }, each.summary_id)),
          found.contexts.map((each) => /* @__PURE__ */ a4("li", { children: [
            "◆",
            " ",
            /* @__PURE__ */ a4("button", { type: "button", class: "link", onClick: () => go({ v: each.rendered_version, tab: "window" }), children: [
              "context of v",
              each.rendered_version
            ] }),
            " ",
            each.how,
            each.via.length > 0 && ` through ${each.via.join(", ")}`
          ] }, each.version))
        ] }),
        source.kind === "service" && /* @__PURE__ */ a4("p", { class: "actions", children: /* @__PURE__ */ a4("button", { type: "button", onClick: () => go({ tab: "what-if", typed: JSON.stringify({ without: [entryId] }) }), children: "Replay without it" }) })
      ] })
    ] });
  }
  function SummaryPane({ id }) {
    const key = session.value;
    const found = useAnswer(key ? (stop) => source.summary(key, id, stop) : null, [key?.id, id]);
    if (!found) {
      return /* @__PURE__ */ a4("aside", { class: "pane", "aria-label": "Details", children: /* @__PURE__ */ a4("p", { class: "muted", children: "Loading the summary…" }) });
    }
    return /* @__PURE__ */ a4("aside", { class: "pane", "aria-label": "Details", children: [
      /* @__PURE__ */ a4("header", { children: [
        /* @__PURE__ */ a4("h2", { children: [
          "Summary ",
          /* @__PURE__ */ a4("code", { children: found.summary_id })
        ] }),
        /* @__PURE__ */ a4("p", { class: "muted", children: [
          "version ",
          found.version,
          " · ",
          count(found.tokens_before),
          " → ",
          plural(found.tokens, "token"),
          " · ",
          found.method ?? "written by a caller",
          found.model && ` · ${found.model}`,
          " · ",
          found.status,
          found.ended_version !== null && ` at version ${found.ended_version}`
        ] })
      ] }),
      found.folded_into && /* @__PURE__ */ a4("p", { class: "why", children: [
        "Folded into",
        " ",
        /* @__PURE__ */ a4("button", { type: "button", class: "link", onClick: () => go({ sel: `s:${found.folded_into}` }), children: found.folded_into }),
        "."
      ] }),
      /* @__PURE__ */ a4(Text, { text: found.text, label: `Text of summary ${found.summary_id}` }),
      found.requested && /* @__PURE__ */ a4("p", { class: "muted", children: [
        "Asked for at version ",
        found.requested.version,
        found.requested.reasons.length > 0 && `: ${found.requested.reasons.join(", ")}`,
        "."
      ] }),
      /* @__PURE__ */ a4("h3", { children: "What it stands for" }),
      /* @__PURE__ */ a4(Tree, { node: found.tree })
    ] });
  }
  function Tree({ node }) {
    return /* @__PURE__ */ a4("ul", { class: "tree", children: /* @__PURE__ */ a4("li", { children: [
      "Σ",
      " ",
      /* @__PURE__ */ a4("button", { type: "button", class: "link", onClick: () => go({ sel: `s:${node.summary_id}` }), children: node.summary_id }),
      " ",
      "v",
      node.version,
      /* @__PURE__ */ a4("ul", { children: node.versions.map(([first, last]) => /* @__PURE__ */ a4("li", { children: /* @__PURE__ */ a4("button", { type: "button", class: "link", onClick: () => go({ sel: `e${columns.peek()?.added[columns.peek()?.rowAtOrAfter(first) ?? 0] ?? first}`, tab: "transcript" }), children: [
        "entries ",
        written([[first, last]])
      ] }) }, first)) }),
      node.folds.map((each) => /* @__PURE__ */ a4(Tree, { node: each }, each.summary_id)),
      node.cut && /* @__PURE__ */ a4("p", { class: "muted", children: "More summaries lie below; open one to go on." })
    ] }) });
  }

  // src/backtests_screen.tsx
  function BacktestsScreen() {
    const { id } = place.value;
    const list = useAnswer(() => source.reports(), []);
    const report = useAnswer(id ? () => source.report(id) : null, [id]);
    return /* @__PURE__ */ a4("main", { class: "backtests", id: "main", children: [
      /* @__PURE__ */ a4("h1", { children: "Backtests" }),
      list === null && /* @__PURE__ */ a4("p", { class: "muted", children: "Reading…" }),
      list?.reports.length === 0 && /* @__PURE__ */ a4("p", { class: "empty", children: [
        "No report. Run ",
        /* @__PURE__ */ a4("code", { children: "memory-ledger --json backtest … > reports/NAME.json" }),
        " and set ",
        /* @__PURE__ */ a4("code", { children: "MEMORY_LEDGER_REPORTS" }),
        " to that folder."
      ] }),
      /* @__PURE__ */ a4("ul", { children: list?.reports.map((each) => /* @__PURE__ */ a4("li", { children: /* @__PURE__ */ a4("button", { type: "button", class: "link", "aria-current": each.name === id, onClick: () => go({ id: each.name }), children: each.name }) }, each.name)) }),
      id && report === null && /* @__PURE__ */ a4("p", { class: "muted", children: [
        "Reading ",
        id,
        "…"
      ] }),
      report !== null && /* @__PURE__ */ a4(Report, { value: report })
    ] });
  }
  function Report({ value }) {
    const tables = Object.entries(value ?? {}).filter((found) => isRows(found[1]));
    if (!tables.length) return /* @__PURE__ */ a4(Json, { value, label: "Report" });
    return /* @__PURE__ */ a4($, { children: [
      tables.map(([name, rows]) => /* @__PURE__ */ a4(Table, { name, rows }, name)),
      /* @__PURE__ */ a4("details", { children: [
        /* @__PURE__ */ a4("summary", { children: "The whole report" }),
        /* @__PURE__ */ a4(Json, { value, label: "Report" })
      ] })
    ] });
  }
  var isRows = (found) => Array.isArray(found) && found.length > 0 && found.every((each) => each !== null && typeof each === "object" && !Array.isArray(each));
  var plain = (value) => value === null || ["string", "number", "boolean"].includes(typeof value);
  function Table({ name, rows }) {
    const [by, setBy] = d2(null);
    const columns2 = Object.keys(rows[0]).filter((column) => rows.every((row) => plain(row[column] ?? null)));
    const sorted = by ? [...rows].sort((a5, b3) => compare(a5[by.column], b3[by.column]) * (by.down ? -1 : 1)) : rows;
    return /* @__PURE__ */ a4($, { children: [
      /* @__PURE__ */ a4("h2", { children: name.replace(/_/g, " ") }),
      /* @__PURE__ */ a4("div", { class: "scroll", tabIndex: 0, role: "group", "aria-label": name, children: /* @__PURE__ */ a4("table", { class: "list", children: [
        /* @__PURE__ */ a4("thead", { children: /* @__PURE__ */ a4("tr", { children: columns2.map((column) => /* @__PURE__ */ a4("th", { scope: "col", "aria-sort": by?.column === column ? by.down ? "descending" : "ascending" : "none", children: /* @__PURE__ */ a4("button", { type: "button", class: "link", onClick: () => setBy({ column, down: by?.column === column ? !by.down : true }), children: column.replace(/_/g, " ") }) }, column)) }) }),
        /* @__PURE__ */ a4("tbody", { children: sorted.slice(0, 500).map((row, index) => /* @__PURE__ */ a4("tr", { children: columns2.map((column) => /* @__PURE__ */ a4("td", { class: typeof row[column] === "number" ? "number" : "", children: /* @__PURE__ */ a4(Cell, { column, value: row[column], row }) }, column)) }, index)) })
      ] }) })
    ] });
  }
  function Cell({ column, value, row }) {
    if (column === "session_id" || column === "session") {
      const to = elsewhere("session", { id: String(value), user: typeof row.user_id === "string" ? row.user_id : null });
      return /* @__PURE__ */ a4("a", { href: address(to), onClick: (event) => link(event, to), children: /* @__PURE__ */ a4("bdi", { children: String(value) }) });
    }
    if (typeof value === "number" && !Number.isInteger(value)) return /* @__PURE__ */ a4($, { children: value.toFixed(3) });
    return /* @__PURE__ */ a4("bdi", { children: value === null || value === void 0 ? "" : String(value) });
  }
  function compare(a5, b3) {
    if (typeof a5 === "number" && typeof b3 === "number") return a5 - b3;
    return String(a5 ?? "").localeCompare(String(b3 ?? ""));
  }

  // src/keys.ts
  var STORED = "memory-ledger:keys";
  var keysOn = y3(remembered() !== "off");
  var bound = [];
  function bind(keys) {
    bound = keys;
    return () => {
      if (bound === keys) bound = [];
    };
  }
  function boundKeys() {
    return bound;
  }
  function switchKeys(on) {
    keysOn.value = on;
    try {
      localStorage.setItem(STORED, on ? "on" : "off");
    } catch {
    }
  }
  function remembered() {
    try {
      return localStorage.getItem(STORED);
    } catch {
      return null;
    }
  }
  function typing(target) {
    if (!(target instanceof HTMLElement)) return false;
    if (target instanceof HTMLInputElement) return target.type !== "range" && target.type !== "checkbox";
    return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement || target.isContentEditable;
  }
  addEventListener("keydown", (event) => {
    if (!keysOn.value || event.ctrlKey || event.metaKey || event.altKey) return;
    if (typing(event.target)) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const inDialog = document.querySelector("dialog[open]") !== null;
    if (inDialog) return;
    const wanted = bound.find((each) => each.keys.includes(event.key));
    if (!wanted) return;
    const control = event.target instanceof HTMLElement && event.target.closest("button, a, summary");
    if (control && event.key === "Enter") return;
    event.preventDefault();
    wanted.run();
  });

  // src/preferences.ts
  function load(name) {
    try {
      return localStorage.getItem(`memory-ledger:${name}`);
    } catch {
      return null;
    }
  }
  function keep(name, value) {
    try {
      localStorage.setItem(`memory-ledger:${name}`, value);
    } catch {
    }
  }
  var scheme = y3(load("scheme") ?? "system");
  var toured = y3(load("toured") === "yes");
  x2(() => {
    const root = document.documentElement;
    if (scheme.value === "system") root.removeAttribute("data-scheme");
    else root.setAttribute("data-scheme", scheme.value);
    keep("scheme", scheme.value);
  });
  function endTour() {
    toured.value = true;
    keep("toured", "yes");
  }
  function againTour() {
    toured.value = false;
  }

  // src/dialogs.tsx
  var asked = y3(null);
  var WORDS = [
    ["window", "The entries and summaries that the model is shown."],
    ["version", "The place of an event in its session, and the state after that event."],
    ["turn", "A user entry and everything up to the next user entry; also called interaction."],
    ["compaction", "Entries leave the window, usually for a summary. The log keeps them all."],
    ["summary", "Text that stands for a range of entries and is linked to them."],
    ["strategy", "A rule that chooses the window, or plans a compaction."],
    ["raster", "Versions across, entries down: each dot says where an entry was at a version."],
    ["proved", "This context was recorded when it was handed over, and its digests are the same."]
  ];
  function Help({ goTo: goTo2 }) {
    const dialog = T2(null);
    const open3 = asked.value;
    F2(() => {
      if (open3) dialog.current?.showModal();
      else dialog.current?.close();
    }, [open3]);
    return /* @__PURE__ */ a4("dialog", { ref: dialog, class: "dialog", "aria-label": open3 === "go" ? "Go to" : "Help", onClose: () => asked.value = null, children: [
      open3 === "go" && /* @__PURE__ */ a4(GoTo, { goTo: goTo2 }),
      open3 === "help" && /* @__PURE__ */ a4(Keys, {})
    ] });
  }
  function GoTo({ goTo: goTo2 }) {
    const [text, setText] = d2("");
    const [wrong, setWrong] = d2(null);
    return /* @__PURE__ */ a4(
      "form",
      {
        onSubmit: (event) => {
          event.preventDefault();
          const problem2 = goTo2(text);
          setWrong(problem2);
          if (!problem2) asked.value = null;
        },
        children: [
          /* @__PURE__ */ a4("label", { children: [
            "Go to a version, a turn or a time",
            /* @__PURE__ */ a4("input", { autoFocus: true, type: "text", value: text, placeholder: "120, t47, 2026-01-31 09:30", onInput: (event) => setText(event.currentTarget.value) })
          ] }),
          wrong && /* @__PURE__ */ a4("p", { class: "warn", role: "alert", children: wrong }),
          /* @__PURE__ */ a4("p", { class: "actions", children: [
            /* @__PURE__ */ a4("button", { type: "submit", class: "main", children: "Go" }),
            /* @__PURE__ */ a4("button", { type: "button", onClick: () => asked.value = null, children: "Cancel" })
          ] })
        ]
      }
    );
  }
  function Keys() {
    return /* @__PURE__ */ a4($, { children: [
      /* @__PURE__ */ a4("h2", { children: "Keys" }),
      /* @__PURE__ */ a4("label", { children: [
        /* @__PURE__ */ a4("input", { type: "checkbox", checked: keysOn.value, onChange: (event) => switchKeys(event.currentTarget.checked) }),
        " use these keys"
      ] }),
      /* @__PURE__ */ a4("dl", { class: "keys", children: boundKeys().map((each) => /* @__PURE__ */ a4("div", { children: [
        /* @__PURE__ */ a4("dt", { children: /* @__PURE__ */ a4("kbd", { children: SIGNS[each.keys[0]] ?? each.keys[0] }) }),
        /* @__PURE__ */ a4("dd", { children: each.does })
      ] }, each.does)) }),
      /* @__PURE__ */ a4("h2", { children: "Words" }),
      /* @__PURE__ */ a4("dl", { class: "words", children: WORDS.map(([word, means]) => /* @__PURE__ */ a4("div", { children: [
        /* @__PURE__ */ a4("dt", { children: word }),
        /* @__PURE__ */ a4("dd", { children: means })
      ] }, word)) }),
      /* @__PURE__ */ a4("p", { class: "actions", children: [
        /* @__PURE__ */ a4("button", { type: "button", class: "main", autoFocus: true, onClick: () => asked.value = null, children: "Close" }),
        /* @__PURE__ */ a4(
          "button",
          {
            type: "button",
            onClick: () => {
              asked.value = null;
              againTour();
            },
            children: "Show the tour"
          }
        )
      ] })
    ] });
  }
  var SIGNS = { ArrowLeft: "←", ArrowRight: "→", Escape: "Esc" };
  var STEPS = [
    ["The slider is time", "Every change of this session is a version. Move the slider, or press ← and →, and the whole page shows the session as it was then."],
    ["The raster is the window", "Versions run across, entries down. Full colour: the model saw the entry. Stripes: it was left out. Dots: a summary stood for it."],
    ["A summary stands for entries", "At a compaction (a vertical line) old entries leave the window and a summary takes their place. The Window tab has the exact text that the model was shown."],
    ["Each row has a fate", "● in the window, ○ not shown, Σ behind a summary, − removed. Choose a row: the pane says why in one sentence, and what the entry reached."]
  ];
  function Tour() {
    const [at, setAt] = d2(0);
    if (toured.value) return null;
    const [title, text] = STEPS[at];
    return /* @__PURE__ */ a4("section", { class: "tour", "aria-label": `Tour, step ${at + 1} of ${STEPS.length}`, "data-step": at, children: [
      /* @__PURE__ */ a4("p", { class: "muted", children: [
        at + 1,
        " of ",
        STEPS.length
      ] }),
      /* @__PURE__ */ a4("h2", { children: title }),
      /* @__PURE__ */ a4("p", { children: text }),
      /* @__PURE__ */ a4("p", { class: "actions", children: [
        at > 0 && /* @__PURE__ */ a4("button", { type: "button", onClick: () => setAt(at - 1), children: "Back" }),
        /* @__PURE__ */ a4(
          "button",
          {
            type: "button",
            class: "main",
            onClick: () => {
              if (at < STEPS.length - 1) setAt(at + 1);
              else endTour();
            },
            children: at < STEPS.length - 1 ? "Next" : "Done"
          }
        ),
        /* @__PURE__ */ a4("button", { type: "button", class: "quiet", onClick: endTour, children: "Close the tour" })
      ] })
    ] });
  }

  // src/records_screen.tsx
  function RecordsScreen() {
    const { ns } = place.value;
    const [text, setText] = d2("");
    const [user, setUser] = d2("");
    const [rows, setRows] = d2(null);
    const [next, setNext] = d2(null);
    const read2 = (offset, known) => source.records({ ns, text: text.trim(), user: user.trim(), offset }).then((found) => {
      setRows([...known, ...found.memories]);
      setNext(found.next);
    }, failed);
    A2(() => void read2(0, []), [ns]);
    return /* @__PURE__ */ a4("main", { class: "records", id: "main", children: [
      /* @__PURE__ */ a4("h1", { children: "Long-term memory" }),
      /* @__PURE__ */ a4(
        "form",
        {
          role: "search",
          class: "filters",
          onSubmit: (event) => {
            event.preventDefault();
            void read2(0, []);
          },
          children: [
            /* @__PURE__ */ a4("label", { children: [
              "Text ",
              /* @__PURE__ */ a4("input", { type: "search", value: text, onInput: (event) => setText(event.currentTarget.value) })
            ] }),
            /* @__PURE__ */ a4("label", { children: [
              "User ",
              /* @__PURE__ */ a4("input", { type: "search", value: user, onInput: (event) => setUser(event.currentTarget.value) })
            ] }),
            /* @__PURE__ */ a4("button", { type: "submit", class: "main", children: "Search" })
          ]
        }
      ),
      rows === null && /* @__PURE__ */ a4("p", { class: "muted", children: "Reading…" }),
      rows?.length === 0 && /* @__PURE__ */ a4("p", { class: "empty", children: "No record matches. Records are facts that a model found in sessions, or that a caller stored." }),
      /* @__PURE__ */ a4("ol", { class: "hits", children: rows?.map((row) => /* @__PURE__ */ a4(Record, { row }, row.id)) }),
      next !== null && rows && /* @__PURE__ */ a4("button", { type: "button", onClick: () => void read2(next, rows), children: "Show more" })
    ] });
  }
  function Record({ row }) {
    const [open3, setOpen] = d2(false);
    const history2 = useAnswer(open3 ? () => source.recordHistory(place.peek().ns, row.id) : null, [open3]);
    const to = row.session_id ? elsewhere("session", { id: row.session_id, user: row.user_id, sel: null }) : null;
    return /* @__PURE__ */ a4("li", { children: [
      /* @__PURE__ */ a4("p", { children: /* @__PURE__ */ a4(Line, { text: row.text }) }),
      /* @__PURE__ */ a4("p", { class: "muted", children: [
        row.memory_type,
        " · ",
        row.user_id ?? "no user",
        " · ",
        when(row.updated_at),
        row.topics && row.topics.length > 0 && ` · ${row.topics.join(", ")}`,
        to && /* @__PURE__ */ a4($, { children: [
          " ",
          "· from",
          " ",
          /* @__PURE__ */ a4("a", { href: address(to), onClick: (event) => link(event, to), children: /* @__PURE__ */ a4("bdi", { children: row.session_id }) })
        ] }),
        row.extracted_from && row.extracted_from.length > 0 && ` · entries ${row.extracted_from.join(", ")}`
      ] }),
      /* @__PURE__ */ a4("details", { onToggle: (event) => setOpen(event.currentTarget.open), children: [
        /* @__PURE__ */ a4("summary", { children: "Revisions" }),
        history2 !== null && /* @__PURE__ */ a4(Json, { value: history2, label: `Revisions of ${row.id}` })
      ] })
    ] });
  }

  // src/search_screen.tsx
  function SearchScreen() {
    const { ns, typed: typed2 } = place.value;
    const [text, setText] = d2(typed2);
    const [hits, setHits] = d2(null);
    const [running, setRunning] = d2(false);
    const run2 = (asked3) => {
      if (!asked3.trim()) return;
      setRunning(true);
      source.search({ namespace: ns }, asked3).then((found) => setHits([...found.results]), failed).finally(() => setRunning(false));
    };
    A2(() => run2(typed2), []);
    return /* @__PURE__ */ a4("main", { class: "search", id: "main", children: [
      /* @__PURE__ */ a4("h1", { children: "Search" }),
      /* @__PURE__ */ a4(
        "form",
        {
          role: "search",
          onSubmit: (event) => {
            event.preventDefault();
            go({ typed: text });
            run2(text);
          },
          children: [
            /* @__PURE__ */ a4("label", { children: [
              "What was said ",
              /* @__PURE__ */ a4("input", { type: "search", value: text, onInput: (event) => setText(event.currentTarget.value) })
            ] }),
            " ",
            /* @__PURE__ */ a4("button", { type: "submit", class: "main", children: "Search" })
          ]
        }
      ),
      running && /* @__PURE__ */ a4("p", { class: "muted", children: "Searching…" }),
      hits?.length === 0 && /* @__PURE__ */ a4("p", { class: "empty", children: "Nothing was found. Use other words, or another namespace." }),
      /* @__PURE__ */ a4("ol", { class: "hits", children: hits?.map((hit) => {
        const to = elsewhere("session", { id: hit.session_id, user: hit.user_id, sel: hit.summary ? `s:${hit.summary.summary_id}` : `e${hit.version}` });
        const said2 = hit.entry && speaker(hit.entry.kind, hit.entry.role);
        return /* @__PURE__ */ a4("li", { children: [
          /* @__PURE__ */ a4("a", { href: address(to), onClick: (event) => link(event, to), children: [
            /* @__PURE__ */ a4("bdi", { children: hit.session_id }),
            " v",
            hit.version
          ] }),
          " ",
          /* @__PURE__ */ a4("span", { class: "muted", children: [
            said2?.name ?? hit.kind,
            " · score ",
            hit.score.toFixed(2),
            hit.why.words.length > 0 && ` · ${hit.why.words.join(", ")}`
          ] }),
          /* @__PURE__ */ a4("p", { children: /* @__PURE__ */ a4(Line, { text: hit.text.slice(0, 400) }) })
        ] }, `${hit.user_id}/${hit.session_id}/${hit.version}/${hit.first_character}`);
      }) })
    ] });
  }

  // src/lanes.tsx
  var HEIGHT = 72;
  var SAMPLES2 = 3;
  var width = y3(0);
  var combined = O(() => {
    tick.value;
    const known = columns.value;
    if (!known || !width.value) return "";
    const versions = known.version / width.value;
    const rows = known.size / HEIGHT;
    if (versions <= 1 && rows <= 1) return "";
    return `One dot stands for up to ${plural(Math.max(1, Math.ceil(versions)), "version")} and ${plural(Math.max(1, Math.ceil(rows)), "entry", "entries")}; it shows the state nearest to the window.`;
  });
  var NOT_YET = 0;
  var SHOWN2 = 1;
  var HIDDEN2 = 2;
  var BEHIND = 3;
  var GONE = 4;
  function rasterOf(known, wide) {
    const cells = new Uint8Array(wide * HEIGHT);
    const until = known.leavings.map((each) => known.behindUntil(each));
    const rows = Math.max(1, known.size);
    const step2 = Math.max(1, Math.floor(rows / HEIGHT / SAMPLES2));
    for (let x3 = 0; x3 < wide; x3++) {
      const at = Math.min(known.version, 1 + Math.floor((x3 + 0.5) * known.version / wide));
      const call = callAt(at);
      const there = known.countAt(at);
      for (let y5 = 0; y5 < HEIGHT; y5++) {
        const first = Math.floor(y5 * rows / HEIGHT);
        const last = Math.max(first + 1, Math.floor((y5 + 1) * rows / HEIGHT));
        let best = NOT_YET;
        for (let row = first; row < last && row < there; row += step2) {
          const state = stateOf(known, until, row, at, call);
          if (best === NOT_YET || state < best) best = state;
          if (best === SHOWN2) break;
        }
        cells[y5 * wide + x3] = best;
      }
    }
    return cells;
  }
  function stateOf(known, until, row, at, call) {
    const leaving = known.leavingIndex(row, at);
    if (leaving < 0) {
      return call === null || known.added[row] > call.version || contains(call.shown, known.added[row]) ? SHOWN2 : HIDDEN2;
    }
    return at < until[leaving] ? BEHIND : GONE;
  }
  function colour(name) {
    const value = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    return [1, 3, 5].map((i4) => parseInt(value.slice(i4, i4 + 2), 16));
  }
  function paint(canvas, known, wide) {
    const cells = rasterOf(known, wide);
    canvas.width = wide;
    canvas.height = HEIGHT;
    const context = canvas.getContext("2d");
    const image = context.createImageData(wide, HEIGHT);
    const [back2, shown, hidden, behind, gone] = ["--lane", "--shown", "--hidden", "--behind", "--gone"].map(colour);
    for (let y5 = 0; y5 < HEIGHT; y5++) {
      for (let x3 = 0; x3 < wide; x3++) {
        const state = cells[y5 * wide + x3];
        let ink = back2;
        if (state === SHOWN2) ink = shown;
        else if (state === HIDDEN2) ink = (x3 + y5) % 4 < 2 ? hidden : back2;
        else if (state === BEHIND) ink = x3 % 2 + y5 % 2 === 1 ? behind : back2;
        else if (state === GONE) ink = x3 % 4 === 0 && y5 % 4 === 0 ? gone : back2;
        image.data.set([ink[0], ink[1], ink[2], 255], 4 * (y5 * wide + x3));
      }
    }
    context.putImageData(image, 0, 0);
  }
  function Raster() {
    const canvas = T2(null);
    const known = columns.value;
    tick.value;
    calls.value;
    A2(() => {
      if (canvas.current && known?.size && width.value) paint(canvas.current, known, width.value);
    }, [known, known?.version, calls.value, width.value, document.documentElement.dataset.scheme]);
    const choose = (event) => {
      if (event.type === "pointermove" && event.buttons !== 1) return;
      const box = event.currentTarget.getBoundingClientRect();
      const part = Math.min(0.9999, Math.max(0, (event.clientX - box.left) / box.width));
      if (known) go({ v: Math.min(known.version, 1 + Math.floor(part * known.version)) });
    };
    return /* @__PURE__ */ a4("div", { class: "lane raster", onPointerDown: choose, onPointerMove: choose, title: combined.value, children: [
      /* @__PURE__ */ a4("canvas", { ref: canvas, role: "img", "aria-label": "The window over all versions; the chart has it as a table." }),
      /* @__PURE__ */ a4(Cursor, {})
    ] });
  }
  function Cursor() {
    tick.value;
    const known = columns.value;
    if (!known?.version) return null;
    return /* @__PURE__ */ a4("div", { class: "cursor", style: { left: `${100 * (version.value - 0.5) / known.version}%` } });
  }
  function outline(values, versions, wide, high, top) {
    const points = [];
    for (let x3 = 0; x3 < wide; x3++) {
      const first = 1 + Math.floor(x3 * versions / wide);
      const last = Math.max(first, Math.floor((x3 + 1) * versions / wide));
      let value = 0;
      for (let at = first; at <= last && at <= versions; at++) value = Math.max(value, values[at]);
      points.push(`${x3},${(high - value / top * high).toFixed(1)}`);
    }
    return points.join(" ");
  }
  function TokenLane({ high = 40 }) {
    tick.value;
    const known = columns.value;
    const wide = width.value;
    if (!known?.version || !wide) return /* @__PURE__ */ a4("div", { class: "lane tokens" });
    const kept = known.kept();
    let top = 1;
    for (let at = 1; at <= known.version; at++) top = Math.max(top, kept[at]);
    const limit = calls.value.reduce((most, each) => Math.max(most, each.limit ?? 0), 0);
    const scale = limit && limit < top * 3 ? Math.max(top, limit) : top;
    const place2 = (at) => (at - 0.5) * wide / known.version;
    const steps = [];
    for (const each of thinned(calls.value, wide, known.version)) {
      const y5 = (high - each.tokens / scale * high).toFixed(1);
      steps.push(`${steps.length ? "L" : "M"}${place2(each.version).toFixed(1)},${y5}`);
    }
    return /* @__PURE__ */ a4("div", { class: "lane tokens", children: [
      /* @__PURE__ */ a4("svg", { viewBox: `0 0 ${wide} ${high}`, preserveAspectRatio: "none", height: high, role: "img", "aria-label": `Tokens over versions, at most ${count(top)}; the chart has them as a table.`, children: [
        /* @__PURE__ */ a4("polygon", { class: "kept", points: `0,${high} ${outline(kept, known.version, wide, high, scale)} ${wide},${high}` }),
        limit > 0 && limit <= scale && /* @__PURE__ */ a4("line", { class: "limit", x1: "0", x2: wide, y1: high - limit / scale * high, y2: high - limit / scale * high }),
        /* @__PURE__ */ a4("path", { class: "seen", d: steps.join("") }),
        ticks(known, wide).map(({ x: x3, kind }) => /* @__PURE__ */ a4("path", { class: `tick ${kind}`, d: shapes[kind](x3, high) }, `${kind}${x3}`))
      ] }),
      /* @__PURE__ */ a4(Cursor, {})
    ] });
  }
  function thinned(all, wide, versions) {
    let x3 = -1;
    return all.filter((each) => {
      const at = Math.floor(each.version * wide / versions);
      if (at === x3) return false;
      x3 = at;
      return true;
    });
  }
  var shapes = {
    compaction: (x3, high) => `M${x3},0V${high}`,
    clear: (x3) => `M${x3 - 3},1L${x3 + 3},7M${x3 + 3},1L${x3 - 3},7`,
    config: (x3) => `M${x3},0L${x3 + 4},7H${x3 - 4}Z`,
    context: (x3, high) => `M${x3},${high - 7}L${x3 + 3},${high - 3.5}L${x3},${high}L${x3 - 3},${high - 3.5}Z`
  };
  function ticks(known, wide) {
    const found = /* @__PURE__ */ new Map();
    const add = (at, kind) => {
      const x3 = Math.round((at - 0.5) * wide / known.version);
      found.set(`${kind}${x3}`, { x: x3, kind });
    };
    for (const at of known.compactions()) add(at, "compaction");
    for (const mark of known.marks) {
      if (mark.type === "clear" || mark.type === "config" || mark.type === "context") add(mark.version, mark.type);
      if (mark.type === "rebuilt") add(mark.version, "config");
    }
    return [...found.values()];
  }
  function Slider() {
    tick.value;
    const known = columns.value;
    if (!known) return null;
    const at = version.value;
    const last = at >= known.version;
    const spoken = `version ${at} of ${known.version}, turn ${known.turnAt(at)}, ${count(known.kept()[at] ?? 0)} tokens kept`;
    return /* @__PURE__ */ a4("div", { class: "slider", children: [
      /* @__PURE__ */ a4(Step, { label: "First version", text: "|◀", to: 1, off: at <= 1 }),
      /* @__PURE__ */ a4(Step, { label: "Compaction before", text: "[", to: nearest(known.compactions(), at, -1), off: nearest(known.compactions(), at, -1) === null }),
      /* @__PURE__ */ a4(Step, { label: "Version before", text: "◀", to: at - 1, off: at <= 1 }),
      /* @__PURE__ */ a4(
        "input",
        {
          type: "range",
          min: 1,
          max: Math.max(1, known.version),
          value: at,
          "aria-label": "Version",
          "aria-valuetext": spoken,
          onInput: (event) => go({ v: Number(event.currentTarget.value) })
        }
      ),
      /* @__PURE__ */ a4(Step, { label: "Version after", text: "▶", to: at + 1, off: last }),
      /* @__PURE__ */ a4(Step, { label: "Compaction after", text: "]", to: nearest(known.compactions(), at, 1), off: nearest(known.compactions(), at, 1) === null }),
      /* @__PURE__ */ a4(Step, { label: "Newest version", text: "▶|", to: known.version, off: last }),
      /* @__PURE__ */ a4(Live, {})
    ] });
  }
  function Step({ label, text, to, off }) {
    return /* @__PURE__ */ a4("button", { type: "button", class: "step", "aria-label": label, title: label, disabled: off, onClick: () => to !== null && go({ v: to }), children: text });
  }
  function nearest(versions, at, way) {
    const found = way > 0 ? versions.find((each) => each > at) : versions.findLast((each) => each < at);
    return found ?? null;
  }
  function Live() {
    tick.value;
    const known = columns.value;
    if (!known) return null;
    const live = version.value >= known.version;
    const follow = () => {
      waiting.value = 0;
      go({ v: null });
    };
    if (live) return /* @__PURE__ */ a4("span", { class: "live on", title: when(known.timeAt(known.version)), children: "● newest" });
    return /* @__PURE__ */ a4("button", { type: "button", class: "live", onClick: follow, title: "Follow the newest version", children: [
      waiting.value > 0 ? `${count(waiting.value)} new` : "newest",
      " ▶"
    ] });
  }
  function Lanes() {
    const box = T2(null);
    F2(() => {
      const observer = new ResizeObserver(([entry]) => {
        width.value = Math.max(1, Math.floor(entry.contentRect.width));
      });
      if (box.current) observer.observe(box.current);
      return () => observer.disconnect();
    }, []);
    return /* @__PURE__ */ a4("section", { class: "lanes", "aria-label": "History", ref: box, children: [
      /* @__PURE__ */ a4(TokenLane, {}),
      /* @__PURE__ */ a4(Raster, {}),
      /* @__PURE__ */ a4(Slider, {}),
      /* @__PURE__ */ a4(Legend, {})
    ] });
  }
  function Legend() {
    return /* @__PURE__ */ a4("p", { class: "legend", children: [
      /* @__PURE__ */ a4("span", { class: "key shown", children: "in the window" }),
      /* @__PURE__ */ a4("span", { class: "key hidden", children: "active, not shown" }),
      /* @__PURE__ */ a4("span", { class: "key behind", children: "behind a summary" }),
      /* @__PURE__ */ a4("span", { class: "key gone", children: "gone" }),
      /* @__PURE__ */ a4("span", { class: "key tick-compaction", children: "compaction" }),
      /* @__PURE__ */ a4("span", { class: "key tick-context", children: "recorded context" }),
      /* @__PURE__ */ a4("span", { class: "combined", children: combined.value })
    ] });
  }

  // src/chart_tab.tsx
  var MOST = 400;
  function ChartTab() {
    tick.value;
    const known = columns.value;
    if (!known) return null;
    const kept = known.kept();
    const all = calls.value;
    const step2 = Math.max(1, Math.ceil(all.length / MOST));
    const rows = all.filter((_4, index) => index % step2 === 0 || index === all.length - 1);
    return /* @__PURE__ */ a4("section", { class: "chart-tab", "aria-label": "Chart", children: [
      /* @__PURE__ */ a4(TokenLane, { high: 220 }),
      /* @__PURE__ */ a4("p", { class: "legend", children: [
        /* @__PURE__ */ a4("span", { class: "key kept", children: "kept: active entries and summaries" }),
        /* @__PURE__ */ a4("span", { class: "key seen", children: "shown to the model" }),
        /* @__PURE__ */ a4("span", { class: "key limit", children: "limit" })
      ] }),
      known.turns.length > 1e3 && /* @__PURE__ */ a4("p", { class: "note", children: "The session is long: windows are read at some of its model calls." }),
      step2 > 1 && /* @__PURE__ */ a4("p", { class: "note", children: [
        "The table has every ",
        step2,
        "th of ",
        count(all.length),
        " model calls."
      ] }),
      /* @__PURE__ */ a4("div", { class: "scroll", tabIndex: 0, role: "group", "aria-label": "Model calls", children: /* @__PURE__ */ a4("table", { class: "numbers", children: [
        /* @__PURE__ */ a4("thead", { children: /* @__PURE__ */ a4("tr", { children: [
          /* @__PURE__ */ a4("th", { scope: "col", children: "version" }),
          /* @__PURE__ */ a4("th", { scope: "col", children: "turn" }),
          /* @__PURE__ */ a4("th", { scope: "col", children: "tokens kept" }),
          /* @__PURE__ */ a4("th", { scope: "col", children: "tokens shown" }),
          /* @__PURE__ */ a4("th", { scope: "col", children: "limit" }),
          /* @__PURE__ */ a4("th", { scope: "col", children: "entries shown" }),
          /* @__PURE__ */ a4("th", { scope: "col", children: "not shown" }),
          /* @__PURE__ */ a4("th", { scope: "col", children: "summaries" }),
          /* @__PURE__ */ a4("th", { scope: "col", children: "recorded" })
        ] }) }),
        /* @__PURE__ */ a4("tbody", { children: rows.map((each) => /* @__PURE__ */ a4("tr", { class: each.version === version.value ? "now" : "", children: [
          /* @__PURE__ */ a4("th", { scope: "row", children: /* @__PURE__ */ a4("button", { type: "button", class: "link", onClick: () => go({ v: each.version }), children: each.version }) }),
          /* @__PURE__ */ a4("td", { children: each.turn ?? "" }),
          /* @__PURE__ */ a4("td", { children: count(kept[each.version] ?? 0) }),
          /* @__PURE__ */ a4("td", { children: count(each.tokens) }),
          /* @__PURE__ */ a4("td", { children: each.limit === null ? "none" : count(each.limit) }),
          /* @__PURE__ */ a4("td", { children: count(sizeOf(each.shown)) }),
          /* @__PURE__ */ a4("td", { children: count(each.hidden) }),
          /* @__PURE__ */ a4("td", { children: each.summaries.length }),
          /* @__PURE__ */ a4("td", { children: each.recorded ? "yes" : "no" })
        ] }, each.version)) })
      ] }) }),
      all.length === 0 && /* @__PURE__ */ a4("p", { class: "empty", children: "No model was called yet: there is no answer in this session." })
    ] });
  }

  // src/copy.tsx
  async function copyText(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      const field = document.createElement("textarea");
      field.value = text;
      document.body.append(field);
      field.select();
      const done = document.execCommand("copy");
      field.remove();
      return done;
    }
  }
  function Copy({ text, label }) {
    const [done, setDone] = d2(false);
    return /* @__PURE__ */ a4("p", { class: "copy", children: [
      /* @__PURE__ */ a4("code", { children: text }),
      /* @__PURE__ */ a4("button", { type: "button", "aria-label": `Copy ${label ?? "the command"}`, onClick: async () => setDone(await copyText(text)), children: done ? "copied" : "copy" })
    ] });
  }

  // src/words_diff.ts
  var MOST2 = 1500;
  function wordDiff(before, after) {
    const a5 = before.match(/\s+|[^\s]+/g) ?? [];
    const b3 = after.match(/\s+|[^\s]+/g) ?? [];
    if (a5.length > MOST2 || b3.length > MOST2) {
      return [
        { text: before, only: "before" },
        { text: after, only: "after" }
      ];
    }
    const wide = b3.length + 1;
    const lengths = new Uint16Array((a5.length + 1) * wide);
    for (let i5 = a5.length - 1; i5 >= 0; i5--) {
      for (let j4 = b3.length - 1; j4 >= 0; j4--) {
        lengths[i5 * wide + j4] = a5[i5] === b3[j4] ? lengths[(i5 + 1) * wide + j4 + 1] + 1 : Math.max(lengths[(i5 + 1) * wide + j4], lengths[i5 * wide + j4 + 1]);
      }
    }
    const parts2 = [];
    const add = (text, only) => {
      const last = parts2.at(-1);
      if (last?.only === only) last.text += text;
      else parts2.push({ text, only });
    };
    let i4 = 0;
    let j3 = 0;
    while (i4 < a5.length && j3 < b3.length) {
      if (a5[i4] === b3[j3]) {
        add(a5[i4++], "both");
        j3++;
      } else if (lengths[(i4 + 1) * wide + j3] >= lengths[i4 * wide + j3 + 1]) add(a5[i4++], "before");
      else add(b3[j3++], "after");
    }
    while (i4 < a5.length) add(a5[i4++], "before");
    while (j3 < b3.length) add(b3[j3++], "after");
    return parts2;
  }

  // src/diff_tab.tsx
  function DiffTab() {
    const known = columns.value;
    const key = session.value;
    const at = version.value;
    const pinned = place.value.a ?? Math.max(1, at - 1);
    const wrong = known !== null && (pinned < 1 || pinned > known.version);
    const found = useAnswer(key && known && at && !wrong ? (stop) => source.diff(key, pinned, at, stop) : null, [key?.id, pinned, at]);
    return /* @__PURE__ */ a4("section", { class: "diff-tab", "aria-label": "Difference", children: [
      /* @__PURE__ */ a4("header", { class: "tab-head", children: [
        /* @__PURE__ */ a4("label", { children: [
          "Version",
          " ",
          /* @__PURE__ */ a4(
            "input",
            {
              type: "number",
              min: 1,
              max: known?.version,
              value: pinned,
              onChange: (event) => go({ a: Number(event.currentTarget.value) || 1 })
            }
          )
        ] }),
        " ",
        "compared with version ",
        at,
        ".",
        " ",
        /* @__PURE__ */ a4("button", { type: "button", onClick: () => go({ a: at }), children: [
          "Pin version ",
          at
        ] })
      ] }),
      wrong && /* @__PURE__ */ a4("p", { class: "empty", children: [
        "There is no version ",
        pinned,
        ". Choose one from 1 to ",
        known?.version,
        "."
      ] }),
      !found && !wrong && /* @__PURE__ */ a4("p", { class: "muted", children: "Comparing…" }),
      found && /* @__PURE__ */ a4(Compared, { found })
    ] });
  }
  function Compared({ found }) {
    const same3 = !found.edited.length && ![found.before, found.after].some((side) => side.only_entries.length || side.only_summaries.length);
    return /* @__PURE__ */ a4($, { children: [
      /* @__PURE__ */ a4("table", { class: "numbers", children: [
        /* @__PURE__ */ a4("thead", { children: /* @__PURE__ */ a4("tr", { children: [
          /* @__PURE__ */ a4("td", {}),
          /* @__PURE__ */ a4("th", { scope: "col", children: head(found.before) }),
          /* @__PURE__ */ a4("th", { scope: "col", children: head(found.after) })
        ] }) }),
        /* @__PURE__ */ a4("tbody", { children: [
          /* @__PURE__ */ a4(NumberRow, { name: "tokens shown", before: count(found.before.budget.tokens), after: count(found.after.budget.tokens) }),
          /* @__PURE__ */ a4(NumberRow, { name: "tokens kept", before: count(found.before.stats.total_tokens), after: count(found.after.stats.total_tokens) }),
          /* @__PURE__ */ a4(NumberRow, { name: "active entries", before: count(found.before.stats.active_entries), after: count(found.after.stats.active_entries) }),
          /* @__PURE__ */ a4(NumberRow, { name: "summaries", before: count(found.before.stats.summaries), after: count(found.after.stats.summaries) }),
          /* @__PURE__ */ a4(NumberRow, { name: "model calls", before: count(found.before.spent.model_calls), after: count(found.after.spent.model_calls) }),
          /* @__PURE__ */ a4(NumberRow, { name: "cost so far", before: usd(found.before.spent.cost_usd), after: usd(found.after.spent.cost_usd) })
        ] })
      ] }),
      same3 && /* @__PURE__ */ a4("p", { class: "empty", children: "The model is shown the same on both sides." }),
      found.config_changed && /* @__PURE__ */ a4("p", { class: "note", children: "The memory config is not the same on both sides." }),
      found.edited.length > 0 && /* @__PURE__ */ a4($, { children: [
        /* @__PURE__ */ a4("h2", { children: "Edited" }),
        found.edited.map(({ before, after }) => /* @__PURE__ */ a4("div", { class: "edited", children: [
          /* @__PURE__ */ a4("p", { class: "muted", children: [
            "v",
            after.version
          ] }),
          /* @__PURE__ */ a4("p", { class: "words", dir: "auto", children: wordDiff(before.content, after.content).map(
            (part, index) => part.only === "before" ? /* @__PURE__ */ a4("del", { children: part.text }, index) : part.only === "after" ? /* @__PURE__ */ a4("ins", { children: part.text }, index) : /* @__PURE__ */ a4("span", { children: part.text }, index)
          ) })
        ] }, after.version))
      ] }),
      /* @__PURE__ */ a4("div", { class: "sides", children: [
        /* @__PURE__ */ a4(SideList, { title: `Only in ${head(found.before)}`, side: found.before, sign: "−" }),
        /* @__PURE__ */ a4(SideList, { title: `Only in ${head(found.after)}`, side: found.after, sign: "+" })
      ] })
    ] });
  }
  var head = (side) => side.what_if ? "what-if" : `version ${side.version}`;
  function NumberRow({ name, before, after }) {
    return /* @__PURE__ */ a4("tr", { class: before === after ? "" : "differs", children: [
      /* @__PURE__ */ a4("th", { scope: "row", children: name }),
      /* @__PURE__ */ a4("td", { children: before }),
      /* @__PURE__ */ a4("td", { children: after })
    ] });
  }
  function SideList({ title, side, sign }) {
    return /* @__PURE__ */ a4("section", { class: "side", "aria-label": title, children: [
      /* @__PURE__ */ a4("h2", { children: title }),
      side.only_entries.length + side.only_summaries.length === 0 && /* @__PURE__ */ a4("p", { class: "muted", children: "nothing" }),
      side.only_summaries.map((each) => /* @__PURE__ */ a4("details", { class: "only", open: true, children: [
        /* @__PURE__ */ a4("summary", { children: [
          sign,
          " Σ summary, ",
          plural(each.tokens, "token")
        ] }),
        /* @__PURE__ */ a4(Text, { text: each.text, label: `Summary ${each.summary_id}` })
      ] }, each.summary_id)),
      side.only_entries.slice(0, 200).map((each) => /* @__PURE__ */ a4("details", { class: "only", children: [
        /* @__PURE__ */ a4("summary", { children: [
          sign,
          " ",
          /* @__PURE__ */ a4("span", { class: `cell-role ${speaker(each.kind, each.role).part}`, children: speaker(each.kind, each.role).letter }),
          " v",
          each.version,
          " ",
          /* @__PURE__ */ a4(Line, { text: each.content.slice(0, 200) }),
          " ",
          /* @__PURE__ */ a4("span", { class: "muted", children: count(each.tokens) })
        ] }),
        /* @__PURE__ */ a4(Text, { text: each.content, label: `Entry ${each.entry_id}` })
      ] }, each.version)),
      side.only_entries.length > 200 && /* @__PURE__ */ a4("p", { class: "note", children: [
        count(side.only_entries.length - 200),
        " more entries are not listed."
      ] })
    ] });
  }

  // src/events_tab.tsx
  var TYPES = [
    "entry.added",
    "entry.edited",
    "entry.removed",
    "compaction.requested",
    "compaction.completed",
    "compaction.failed",
    "context.rendered",
    "config.changed",
    "session.opened",
    "session.cleared"
  ];
  var PAGE2 = 100;
  function EventsTab() {
    const key = session.value;
    const at = version.value;
    const wanted = /^v(\d+)$/.exec(place.value.typed)?.[1];
    const [types, setTypes] = d2([]);
    const [actor, setActor] = d2("");
    const [events, setEvents] = d2(null);
    const [more, setMore] = d2(false);
    const top = wanted ? Number(wanted) : at;
    const read2 = (before, known, stop) => {
      if (!key) return;
      source.events(key, { before_version: before, limit: PAGE2, actor }, types, stop).then((page) => {
        if (stop?.aborted) return;
        setEvents([...known, ...page.events]);
        setMore(page.events.length === PAGE2);
      }, failed);
    };
    A2(() => {
      const stop = new AbortController();
      read2(top + 1, [], stop.signal);
      return () => stop.abort();
    }, [key?.id, top, types.join(), actor]);
    return /* @__PURE__ */ a4("section", { class: "events-tab", "aria-label": "Events", children: [
      /* @__PURE__ */ a4("header", { class: "tab-head filters", children: [
        /* @__PURE__ */ a4("label", { children: [
          "Type",
          " ",
          /* @__PURE__ */ a4("select", { value: types[0] ?? "", onChange: (event) => setTypes(event.currentTarget.value ? event.currentTarget.value.split(" ") : []), children: [
            /* @__PURE__ */ a4("option", { value: "", children: "all" }),
            /* @__PURE__ */ a4("option", { value: "compaction.requested compaction.completed compaction.failed compaction.discarded", children: "all compactions" }),
            TYPES.map((name) => /* @__PURE__ */ a4("option", { children: name }, name))
          ] })
        ] }),
        /* @__PURE__ */ a4("label", { children: [
          "Actor ",
          /* @__PURE__ */ a4("input", { type: "search", value: actor, onChange: (event) => setActor(event.currentTarget.value.trim()) })
        ] }),
        wanted && /* @__PURE__ */ a4("button", { type: "button", class: "chip", onClick: () => go({ typed: "" }), children: [
          "from version ",
          wanted,
          " ✕"
        ] })
      ] }),
      events === null && /* @__PURE__ */ a4("p", { class: "muted", children: "Reading the log…" }),
      events?.length === 0 && /* @__PURE__ */ a4("p", { class: "empty", children: "No event matches. Choose another type or actor." }),
      /* @__PURE__ */ a4("ol", { class: "events", children: events?.map((each) => /* @__PURE__ */ a4(Event, { event: each, open: String(each.version) === wanted }, each.version)) }),
      more && events && /* @__PURE__ */ a4("button", { type: "button", onClick: () => read2(events[events.length - 1].version, events), children: "Show earlier events" })
    ] });
  }
  function Event({ event, open: open3 }) {
    const [seen, setSeen] = d2(open3);
    return /* @__PURE__ */ a4("li", { children: /* @__PURE__ */ a4("details", { open: open3, onToggle: (toggled) => setSeen(toggled.currentTarget.open), children: [
      /* @__PURE__ */ a4("summary", { children: [
        /* @__PURE__ */ a4("span", { class: "cell-version", children: event.version }),
        /* @__PURE__ */ a4("span", { class: `link-${event.link}`, title: `link: ${event.link}`, children: [
          event.link === "ok" || event.link === "first" ? "✓" : event.link === "broken" ? "✗" : "·",
          /* @__PURE__ */ a4("span", { class: "sr", children: [
            "link ",
            event.link
          ] })
        ] }),
        /* @__PURE__ */ a4("b", { children: event.type }),
        " ",
        /* @__PURE__ */ a4(Line, { text: event.text }),
        /* @__PURE__ */ a4("span", { class: "muted", children: [
          " ",
          event.actor || "no actor",
          event.actor_claimed && " (claimed)",
          " · ",
          when(event.recorded_at)
        ] })
      ] }),
      seen && /* @__PURE__ */ a4($, { children: [
        /* @__PURE__ */ a4("dl", { class: "hashes", children: [
          /* @__PURE__ */ a4("dt", { children: "hash" }),
          /* @__PURE__ */ a4("dd", { children: /* @__PURE__ */ a4("code", { children: event.hash }) }),
          /* @__PURE__ */ a4("dt", { children: "previous" }),
          /* @__PURE__ */ a4("dd", { children: /* @__PURE__ */ a4("code", { children: event.previous_hash }) }),
          /* @__PURE__ */ a4("dt", { children: "position" }),
          /* @__PURE__ */ a4("dd", { children: event.position })
        ] }),
        event.type === "entry.added" && typeof event.payload.content === "string" && /* @__PURE__ */ a4(Text, { text: event.payload.content, label: "Text" }),
        /* @__PURE__ */ a4(Json, { value: event.payload, label: `Event ${event.version}` }),
        /* @__PURE__ */ a4("p", { class: "actions", children: /* @__PURE__ */ a4("button", { type: "button", onClick: () => go({ v: event.version }), children: [
          "Go to version ",
          event.version
        ] }) })
      ] })
    ] }) });
  }

  // src/forks_tab.tsx
  var same2 = (one, id, user) => one.session_id === id && (one.user_id ?? null) === (user ?? null);
  function ForksTab() {
    const key = session.value;
    const found = family.value;
    const [other, setOther] = d2(null);
    if (!key) return null;
    if (!found) return /* @__PURE__ */ a4("p", { class: "muted", children: "Looking for forks…" });
    const own = found.members.find((each) => same2(each, key.id, key.user));
    if (found.members.length < 2) {
      return /* @__PURE__ */ a4("section", { "aria-label": "Forks", children: /* @__PURE__ */ a4("p", { class: "empty", children: [
        "This session was not forked, and is not a fork. ",
        /* @__PURE__ */ a4("code", { children: "memory-ledger fork" }),
        " starts another one from any version."
      ] }) });
    }
    const roots = found.members.filter((each) => !found.members.some((one) => one.session_id === each.parent));
    return /* @__PURE__ */ a4("section", { class: "forks-tab", "aria-label": "Forks", children: [
      roots.map((each) => /* @__PURE__ */ a4(Branch, { member: each, all: found.members, compare: setOther }, each.session_id)),
      other && own && /* @__PURE__ */ a4(Compare, { own, other, all: found.members })
    ] });
  }
  function Branch({ member, all, compare: compare2 }) {
    const key = session.value;
    const here = key !== null && same2(member, key.id, key.user);
    const to = elsewhere("session", { id: member.session_id, user: member.user_id, tab: "forks" });
    return /* @__PURE__ */ a4("ul", { class: "tree", children: /* @__PURE__ */ a4("li", { children: [
      here ? /* @__PURE__ */ a4("b", { children: member.session_id }) : /* @__PURE__ */ a4("a", { href: address(to), onClick: (event) => link(event, to), children: member.session_id }),
      " ",
      /* @__PURE__ */ a4("span", { class: "muted", children: [
        member.at_version !== null && `from v${member.at_version} · `,
        "v",
        member.version,
        " · ",
        member.status
      ] }),
      " ",
      !here && /* @__PURE__ */ a4("button", { type: "button", onClick: () => compare2(member), children: "Compare" }),
      all.filter((each) => each.parent === member.session_id).map((each) => /* @__PURE__ */ a4(Branch, { member: each, all, compare: compare2 }, each.session_id))
    ] }) });
  }
  function commonVersion(one, other, all) {
    const shared = /* @__PURE__ */ new Map();
    let until = one.version;
    for (let at = one; at; at = all.find((each) => each.session_id === at?.parent)) {
      shared.set(at.session_id, until);
      until = Math.min(until, at.at_version ?? 0);
    }
    until = other.version;
    for (let at = other; at; at = all.find((each) => each.session_id === at?.parent)) {
      const both = shared.get(at.session_id);
      if (both !== void 0) return Math.min(both, until);
      until = Math.min(until, at.at_version ?? 0);
    }
    return 0;
  }
  function Compare({ own, other, all }) {
    const common = Math.max(1, commonVersion(own, other, all));
    return /* @__PURE__ */ a4($, { children: [
      /* @__PURE__ */ a4("h2", { children: [
        "Since version ",
        common,
        ", which both share"
      ] }),
      /* @__PURE__ */ a4("div", { class: "sides", children: [
        /* @__PURE__ */ a4(Since, { member: own, common }),
        /* @__PURE__ */ a4(Since, { member: other, common })
      ] })
    ] });
  }
  function Since({ member, common }) {
    const key = { ns: place.value.ns, user: member.user_id, id: member.session_id };
    const found = useAnswer((stop) => source.diff(key, common, member.version, stop), [member.session_id, common]);
    return /* @__PURE__ */ a4("section", { class: "side", "aria-label": member.session_id, children: [
      /* @__PURE__ */ a4("h2", { children: member.session_id }),
      found ? /* @__PURE__ */ a4(Compared, { found }) : /* @__PURE__ */ a4("p", { class: "muted", children: "Comparing…" })
    ] });
  }

  // src/chain.ts
  var TAG = "mledger/event/2\n";
  var URL_NAMESPACE = "6ba7b811-9dad-11d1-80b4-00c04fd430c8";
  var utf8 = new TextEncoder();
  var canHash = globalThis.crypto?.subtle !== void 0;
  function hex(bytes) {
    let text = "";
    for (const byte of bytes) text += byte.toString(16).padStart(2, "0");
    return text;
  }
  function unhex(text) {
    const bytes = new Uint8Array(text.length / 2);
    for (let i4 = 0; i4 < bytes.length; i4++) bytes[i4] = parseInt(text.slice(2 * i4, 2 * i4 + 2), 16);
    return bytes;
  }
  var uuid = (text) => unhex(text.replace(/-/g, ""));
  function unbase64(text) {
    const binary = atob(text);
    const bytes = new Uint8Array(binary.length);
    for (let i4 = 0; i4 < binary.length; i4++) bytes[i4] = binary.charCodeAt(i4);
    return bytes;
  }
  async function digest(algorithm, bytes) {
    return new Uint8Array(await crypto.subtle.digest(algorithm, bytes));
  }
  async function uuid5(space, name) {
    const found = (await digest("SHA-1", concat([uuid(space), utf8.encode(name)]))).slice(0, 16);
    found[6] = found[6] & 15 | 80;
    found[8] = found[8] & 63 | 128;
    const text = hex(found);
    return [text.slice(0, 8), text.slice(8, 12), text.slice(12, 16), text.slice(16, 20), text.slice(20)].join("-");
  }
  function concat(parts2) {
    const whole2 = new Uint8Array(parts2.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of parts2) {
      whole2.set(part, at);
      at += part.length;
    }
    return whole2;
  }
  function numbers(...fields) {
    const view = new DataView(new ArrayBuffer(fields.reduce((sum, [size]) => sum + size, 0)));
    let at = 0;
    for (const [size, value] of fields) {
      if (size === 2) view.setInt16(at, value);
      else if (size === 4) view.setUint32(at, value);
      else view.setBigInt64(at, BigInt(value));
      at += size;
    }
    return new Uint8Array(view.buffer);
  }
  async function frame(line, space, previous) {
    const type = utf8.encode(line.type);
    const actor = utf8.encode(line.actor);
    return concat([
      utf8.encode(TAG),
      space,
      uuid(line.stream_id),
      numbers([8, line.version], [8, line.position]),
      uuid(line.event_id),
      numbers([4, type.length]),
      type,
      numbers([2, line.schema_version], [2, line.codec], [8, line.occurred_us], [8, line.recorded_us], [4, actor.length]),
      actor,
      line.key_id ? concat([new Uint8Array([1]), uuid(line.key_id)]) : new Uint8Array([0]),
      line.key_commitment ? unhex(line.key_commitment) : new Uint8Array(32),
      await digest("SHA-256", unbase64(line.structure)),
      line.content_digest ? unhex(line.content_digest) : new Uint8Array(32),
      previous
    ]);
  }
  async function recompute(lines, progress, signal) {
    const heads = /* @__PURE__ */ new Map();
    const hashes = /* @__PURE__ */ new Map();
    const forks = /* @__PURE__ */ new Map();
    const all = [];
    let space = new Uint8Array(16);
    let checked = 0;
    let position = 0;
    let head2 = "";
    const wrong = (problem2, version2) => ({ ok: false, checked, head: head2, problem: problem2, version: version2 });
    for await (const text of lines) {
      if (signal.aborted) throw new DOMException("cancelled", "AbortError");
      let line;
      try {
        line = JSON.parse(text);
      } catch {
        return wrong(`line ${all.length + 1} is not JSON`, null);
      }
      if (line.format !== void 0) {
        all.push(text);
        space = uuid(await uuid5(URL_NAMESPACE, `mledger:${line.namespace}`));
        for (const fork2 of line.forks ?? []) forks.set(fork2[0] ?? fork2.stream_id, { parent: fork2[1] ?? fork2.parent_id, version: fork2[2] ?? fork2.version });
        continue;
      }
      if (line.heads !== void 0) {
        const whole2 = hex(await digest("SHA-256", utf8.encode(all.join("\n") + "\n")));
        if (whole2 !== line.sha256 || line.events !== checked) return wrong("the last line does not match the lines before it", null);
        for (const end of line.heads) {
          const found = heads.get(end.stream_id);
          if (found?.version !== end.version || found?.hash !== end.hash) {
            return wrong("the last line names another end of the session", end.version);
          }
        }
        return { ok: true, checked, head: head2, problem: null, version: null };
      }
      all.push(text);
      const event = line;
      const known = heads.get(event.stream_id);
      let before = known ?? { version: 0, hash: "0".repeat(64) };
      const fork = known ? void 0 : forks.get(event.stream_id);
      if (fork) {
        let owner = fork.parent;
        for (let up = forks.get(owner); up && fork.version <= up.version; up = forks.get(owner)) owner = up.parent;
        const hash2 = hashes.get(`${owner}@${fork.version}`);
        if (!hash2) return wrong("the version that it was forked from is not in the file", fork.version);
        before = { version: fork.version, hash: hash2 };
      }
      if (event.version !== before.version + 1) return wrong(`version ${before.version + 1} is missing`, before.version + 1);
      if (event.position <= position) return wrong(`position ${event.position} is out of order`, event.version);
      if (!event.content !== !event.content_digest) return wrong("the content of the event is missing", event.version);
      if (event.content && hex(await digest("SHA-256", unbase64(event.content))) !== event.content_digest) {
        return wrong("the content is not what was recorded", event.version);
      }
      const hash = hex(await digest("SHA-256", await frame(event, space, unhex(before.hash))));
      if (hash !== event.hash) return wrong("the event is not what was recorded", event.version);
      heads.set(event.stream_id, { version: event.version, hash });
      for (const each of forks.values()) if (each.version === event.version) hashes.set(`${event.stream_id}@${event.version}`, hash);
      position = event.position;
      head2 = hash;
      if (++checked % 200 === 0) progress(checked);
    }
    return wrong("the file ends before its last line", null);
  }

  // src/proof_tab.tsx
  var run = y3(null);
  function verdictWord() {
    const now = run.value;
    if (!now || now.session !== session.value?.id) return { word: "not checked", ok: null };
    const service = now.service.verdict;
    const browser = now.browser.verdict;
    if (browser && !browser.ok) return { word: "TAMPERED", ok: false };
    if (service) return { word: service.verdict, ok: service.findings.length === 0 };
    if (browser) return { word: "OK-CHAINED", ok: true };
    return { word: "checking…", ok: null };
  }
  function change(part) {
    if (run.value) run.value = { ...run.value, ...part };
  }
  function check() {
    const key = session.peek();
    if (!key) return;
    run.peek()?.stop.abort();
    const stop = new AbortController();
    run.value = {
      session: key.id,
      stop,
      service: { checked: 0, total: columns.peek()?.newest ?? 0, verdict: null, problem: null },
      browser: { checked: 0, verdict: null, problem: null }
    };
    const still = () => run.peek()?.stop === stop;
    if (source.kind === "service") {
      source.verify(key, (checked, total) => still() && change({ service: { ...run.peek().service, checked, total } }), stop.signal).then(
        (verdict) => still() && change({ service: { ...run.peek().service, verdict } }),
        (fault) => still() && change({ service: { ...run.peek().service, problem: fault.message } })
      );
    }
    if (!canHash) {
      change({
        browser: { checked: 0, verdict: null, problem: "This browser computes hashes only on https, on this machine, or from a file on disk." }
      });
      return;
    }
    recompute(source.lines(key, stop.signal), (checked) => still() && change({ browser: { checked, verdict: null, problem: null } }), stop.signal).then(
      (verdict) => still() && change({ browser: { checked: verdict.checked, verdict, problem: null } }),
      (fault) => still() && change({ browser: { checked: 0, verdict: null, problem: fault.message } })
    );
  }
  function ProofTab() {
    const key = session.value;
    const now = run.value?.session === key?.id ? run.value : null;
    A2(() => {
      if (inFile && run.peek()?.session !== key?.id) check();
    }, [key?.id]);
    if (!key) return null;
    const busy = now !== null && !((now.service.verdict || now.service.problem || source.kind === "file") && (now.browser.verdict || now.browser.problem));
    return /* @__PURE__ */ a4("section", { class: "proof-tab", "aria-label": "Proof", children: [
      /* @__PURE__ */ a4("p", { class: "actions", children: [
        /* @__PURE__ */ a4("button", { type: "button", class: "main", onClick: check, disabled: busy, children: now ? "Check again" : "Check the log" }),
        busy && /* @__PURE__ */ a4("button", { type: "button", onClick: () => now?.stop.abort(), children: "Cancel" }),
        /* @__PURE__ */ a4("button", { type: "button", onClick: () => void saveLines(), children: "Save the export (.jsonl)" })
      ] }),
      /* @__PURE__ */ a4("div", { class: "sides", "aria-live": "polite", children: [
        source.kind === "service" && /* @__PURE__ */ a4("section", { class: "side", "aria-label": "The service", children: [
          /* @__PURE__ */ a4("h2", { children: "The service" }),
          now ? /* @__PURE__ */ a4(ServiceVerdict, { now }) : /* @__PURE__ */ a4("p", { class: "muted", children: "Recomputes every hash, and replays the session against what reads answer." })
        ] }),
        /* @__PURE__ */ a4("section", { class: "side", "aria-label": "This browser", children: [
          /* @__PURE__ */ a4("h2", { children: "This browser" }),
          now ? /* @__PURE__ */ a4(BrowserVerdict, { now }) : /* @__PURE__ */ a4("p", { class: "muted", children: "Recomputes every hash from the exported lines, without believing the service." })
        ] })
      ] }),
      /* @__PURE__ */ a4("p", { class: "note", children: "A chain proves that nothing between the first and the last event was changed, removed or put in. It cannot prove that the last events were not cut off, or that all of it was not written anew, unless you hold a hash from outside, such as a receipt. It does not prove that what was recorded was true." })
    ] });
  }
  function ServiceVerdict({ now }) {
    const { checked, total, verdict, problem: problem2 } = now.service;
    if (problem2) return /* @__PURE__ */ a4("p", { class: "warn", children: problem2 });
    if (!verdict) return /* @__PURE__ */ a4("progress", { max: Math.max(1, total), value: checked, "aria-label": "Events checked by the service" });
    return /* @__PURE__ */ a4($, { children: [
      /* @__PURE__ */ a4("p", { class: verdict.findings.length ? "badge bad" : "badge ok", children: verdict.verdict }),
      /* @__PURE__ */ a4("p", { children: [
        plural(verdict.checked, "event"),
        " checked. Newest hash: ",
        /* @__PURE__ */ a4("code", { children: verdict.head.hash })
      ] }),
      /* @__PURE__ */ a4("ul", { children: verdict.findings.map((each, index) => /* @__PURE__ */ a4("li", { children: [
        each.version !== null && /* @__PURE__ */ a4("button", { type: "button", class: "link", onClick: () => go({ tab: "events", typed: `v${each.version}` }), children: [
          "version ",
          each.version
        ] }),
        " ",
        each.problem
      ] }, index)) })
    ] });
  }
  function BrowserVerdict({ now }) {
    const { checked, verdict, problem: problem2 } = now.browser;
    const total = columns.value?.newest ?? 1;
    if (problem2) return /* @__PURE__ */ a4("p", { class: "warn", children: problem2 });
    if (!verdict) return /* @__PURE__ */ a4("progress", { max: total, value: checked, "aria-label": "Events checked by the browser" });
    if (verdict.ok) {
      return /* @__PURE__ */ a4($, { children: [
        /* @__PURE__ */ a4("p", { class: "badge ok", children: "OK-CHAINED" }),
        /* @__PURE__ */ a4("p", { children: [
          plural(verdict.checked, "event"),
          " checked. Newest hash: ",
          /* @__PURE__ */ a4("code", { children: verdict.head })
        ] })
      ] });
    }
    return /* @__PURE__ */ a4($, { children: [
      /* @__PURE__ */ a4("p", { class: "badge bad", children: "TAMPERED" }),
      /* @__PURE__ */ a4("p", { children: [
        verdict.version !== null && /* @__PURE__ */ a4("button", { type: "button", class: "link", onClick: () => go({ tab: "events", typed: `v${verdict.version}` }), children: [
          "version ",
          count(verdict.version)
        ] }),
        " ",
        verdict.problem
      ] })
    ] });
  }
  async function saveLines() {
    const key = session.peek();
    if (!key) return;
    try {
      const parts2 = [];
      for await (const line of source.lines(key, new AbortController().signal)) parts2.push(`${line}
`);
      save(`${key.id}.jsonl`, parts2);
    } catch (fault) {
      failed(fault);
    }
  }

  // src/window_tab.tsx
  function WindowTab() {
    const known = columns.value;
    const found = shownWindow.value;
    const at = version.value;
    if (!known) return null;
    if (!found) return /* @__PURE__ */ a4("p", { class: "muted", children: [
      "Rendering the window of version ",
      at,
      "…"
    ] });
    return /* @__PURE__ */ a4("section", { class: "window-tab", "aria-label": "Window", "aria-busy": found.version !== at, children: [
      /* @__PURE__ */ a4("header", { class: "tab-head", children: [
        /* @__PURE__ */ a4(Badge, { window: found }),
        /* @__PURE__ */ a4("p", { children: [
          "Version ",
          found.version,
          ", turn ",
          known.turnAt(found.version),
          ": ",
          plural(found.total, "item"),
          ", ",
          plural(found.tokens, "token"),
          " shown, by",
          " ",
          /* @__PURE__ */ a4("code", { children: found.strategy }),
          "."
        ] }),
        found.not_known_total > 0 && /* @__PURE__ */ a4(NotKnown, { window: found }),
        found.hidden_total > 0 && /* @__PURE__ */ a4("p", { class: "muted", children: [
          plural(found.hidden_total, "active entry", "active entries"),
          " not shown:",
          " ",
          found.hidden.slice(0, 12).map(({ versions, reason }) => `${written(versions.slice(0, 20))} (${reason.replace(/_/g, " ")})`).join("; ")
        ] })
      ] }),
      /* @__PURE__ */ a4(Items, { window: found })
    ] });
  }
  function NotKnown({ window: window2 }) {
    const left = window2.not_known_total - window2.not_known.length;
    return /* @__PURE__ */ a4("div", { class: "not-known", role: "note", children: [
      /* @__PURE__ */ a4("p", { children: [
        /* @__PURE__ */ a4("b", { children: "This window may not be what the agent sent:" }),
        " the file that it was imported from does not tell."
      ] }),
      /* @__PURE__ */ a4("ul", { children: window2.not_known.map(({ version: version2, text, line }) => /* @__PURE__ */ a4("li", { children: [
        text,
        " ",
        /* @__PURE__ */ a4("span", { class: "muted", children: [
          "v",
          version2,
          line === null ? "" : `, line ${line}`
        ] })
      ] }, version2)) }),
      left > 0 && /* @__PURE__ */ a4("p", { class: "muted", children: [
        plural(left, "earlier reason"),
        " not listed."
      ] })
    ] });
  }
  function Badge({ window: window2 }) {
    const { recorded } = window2;
    if (!recorded) {
      return /* @__PURE__ */ a4("span", { class: "badge", title: "No context was recorded at this version. This is what it would have been.", children: "not recorded" });
    }
    if (recorded.verdict === "proved") {
      return /* @__PURE__ */ a4("span", { class: "badge ok", title: `Handed over at ${when(recorded.recorded_at)}; its digests are the recorded ones.`, children: "✓ proved" });
    }
    return /* @__PURE__ */ a4("span", { class: "badge bad", title: "What is rendered now has other digests than what was recorded.", children: "✗ differs" });
  }
  function Items({ window: window2 }) {
    const [more, setMore] = d2({ of: window2, items: [] });
    const added = more.of === window2 ? more.items : [];
    const items = [...window2.items, ...added];
    const key = session.value;
    const next = () => {
      if (!key) return;
      source.window(key, window2.version, items.length).then((page) => setMore({ of: window2, items: [...added, ...page.items] }), failed);
    };
    return /* @__PURE__ */ a4($, { children: [
      /* @__PURE__ */ a4("ol", { class: "items", children: items.map((item, index) => /* @__PURE__ */ a4(Item, { item }, `${index}:${item.kind}:${item.version}`)) }),
      items.length < window2.total && /* @__PURE__ */ a4("p", { children: /* @__PURE__ */ a4("button", { type: "button", onClick: next, children: [
        "Show more (",
        count(window2.total - items.length),
        " left)"
      ] }) }),
      window2.total === 0 && /* @__PURE__ */ a4("p", { class: "empty", children: "The window is empty at this version: nothing was added yet, or the session was cleared." })
    ] });
  }
  function Item({ item }) {
    const said2 = speaker(item.entry_kind ?? item.kind, item.role ?? "");
    const chosen = place.value.sel === selOf(item);
    return /* @__PURE__ */ a4("li", { class: `item source-${item.source} ${item.kind}`, "aria-current": chosen ? "true" : void 0, children: [
      item.gap && /* @__PURE__ */ a4("p", { class: "gap", children: "⋯ entries are left out here" }),
      /* @__PURE__ */ a4("button", { type: "button", class: "item-head", onClick: () => go({ sel: selOf(item) }), disabled: item.kind === "knowledge", children: [
        /* @__PURE__ */ a4("span", { class: `cell-role ${item.kind === "summary" ? "summaries" : said2.part}`, children: item.kind === "summary" ? "Σ" : item.kind === "knowledge" ? "K" : said2.letter }),
        /* @__PURE__ */ a4("b", { children: item.kind === "entry" ? said2.name : item.kind }),
        item.tool_name && /* @__PURE__ */ a4("code", { children: item.tool_name }),
        /* @__PURE__ */ a4("span", { class: "muted", children: [
          "v",
          item.version,
          item.covered.length > 0 && ` · stands for ${plural(sizeOf(item.covered), "entry", "entries")}`,
          item.source === "recalled" && ` · recalled${item.score === null ? "" : `, score ${item.score.toFixed(2)}`}`
        ] }),
        /* @__PURE__ */ a4("span", { class: "cell-tokens", children: item.tokens === null ? "" : count(item.tokens) })
      ] }),
      /* @__PURE__ */ a4(Text, { text: item.text, label: `${item.kind} of version ${item.version}` }),
      item.length > item.text.length && /* @__PURE__ */ a4("p", { class: "note", children: [
        count(item.length - item.text.length),
        " more characters; open it to read all."
      ] })
    ] });
  }
  var selOf = (item) => item.kind === "summary" ? `s:${item.id}` : item.kind === "entry" ? `e${item.version}` : null;

  // src/what_if_tab.tsx
  function windowsOf(found) {
    return (found?.presets ?? []).filter(({ config }) => Array.isArray(config.compactions) && !config.compactions.length).map(({ config }) => config.window).map((window2) => ({ type: String(window2.type), window: window2, limit: Object.keys(window2).find((name) => typeof window2[name] === "number") ?? null }));
  }
  function asked2() {
    try {
      const found = JSON.parse(place.value.typed);
      return { config: found.config ?? null, without: found.without ?? [] };
    } catch {
      return { config: null, without: [] };
    }
  }
  var askedFor = y3(0);
  function tryConfig(config) {
    go({ v: null, tab: "what-if", typed: JSON.stringify({ config, without: [] }) });
    askedFor.value++;
  }
  function WhatIfTab() {
    const key = session.value;
    const at = version.value;
    const first = asked2();
    const [text, setText] = d2(first.config ? JSON.stringify(first.config, null, 2) : "");
    const [strategy, setStrategy] = d2("recall");
    const [limit, setLimit] = d2(null);
    const [without, setWithout] = d2(first.without.join(", "));
    const [answer, setAnswer] = d2(null);
    const [missing, setMissing] = d2(null);
    const [running, setRunning] = d2(null);
    const own = useAnswer(() => source.presets(), []);
    A2(() => {
      if (first.config || first.without.length) submit("raise");
    }, []);
    if (!key) return null;
    const names = without.split(/[\s,]+/).filter(Boolean);
    const windows = source.kind === "service" ? windowsOf(own) : [];
    const start2 = windows.find((each) => each.type === strategy) ?? windows[0];
    const typed2 = limit ?? (start2?.limit ? String(start2.window[start2.limit]) : "");
    const fields = () => start2 && { window: start2.limit ? { ...start2.window, [start2.limit]: Number(typed2) } : start2.window };
    const run2 = (onMiss, config) => {
      const stop = new AbortController();
      setRunning(stop);
      setMissing(null);
      go({ typed: JSON.stringify({ config, without: names }) });
      source.whatIf(key, { config, version: at, without: names.map((name) => /^\d+$/.test(name) ? Number(name) : name), on_miss: onMiss }, stop.signal).then(setAnswer, (fault) => {
        if (fault instanceof Refused && fault.code === "summary_missing") setMissing(fault.message);
        else failed(fault);
      }).finally(() => setRunning(null));
    };
    const chosen = () => {
      if (!text.trim()) return names.length ? null : fields();
      try {
        return JSON.parse(text);
      } catch (fault) {
        failed(new Refused(0, "bad_json", `The config is not JSON: ${fault.message}`));
        return void 0;
      }
    };
    const submit = (onMiss) => {
      const config = chosen();
      if (config !== void 0) run2(onMiss, config);
    };
    if (source.kind === "file" && own && !own.presets.length) {
      return /* @__PURE__ */ a4("section", { class: "what-if-tab", "aria-label": "What if", children: /* @__PURE__ */ a4("p", { class: "empty", children: [
        "This file holds no what-ifs. Whoever has the session can put some in: ",
        /* @__PURE__ */ a4("code", { children: "memory-ledger view SESSION --html FILE --config CONFIG" })
      ] }) });
    }
    return /* @__PURE__ */ a4("section", { class: "what-if-tab", "aria-label": "What if", children: [
      /* @__PURE__ */ a4("header", { class: "tab-head", children: /* @__PURE__ */ a4("p", { children: [
        "What would the model be shown at version ",
        at,
        " under another memory config? Nothing is written, and no model is called."
      ] }) }),
      /* @__PURE__ */ a4(
        "form",
        {
          class: "what-if-form",
          onSubmit: (event) => {
            event.preventDefault();
            submit("raise");
          },
          children: [
            own && own.presets.length > 0 && /* @__PURE__ */ a4("label", { children: [
              "Preset",
              /* @__PURE__ */ a4(
                "select",
                {
                  value: "",
                  onChange: (event) => {
                    const found = own.presets.find((each) => each.name === event.currentTarget.value);
                    if (found) setText(JSON.stringify(found.config, null, 2));
                  },
                  children: [
                    /* @__PURE__ */ a4("option", { value: "", children: "choose…" }),
                    own.presets.map((each) => /* @__PURE__ */ a4("option", { value: each.name, children: each.title }, each.name))
                  ]
                }
              )
            ] }),
            source.kind === "service" && /* @__PURE__ */ a4($, { children: [
              /* @__PURE__ */ a4("label", { children: [
                "Strategy",
                /* @__PURE__ */ a4(
                  "select",
                  {
                    value: start2?.type,
                    onChange: (event) => {
                      setStrategy(event.currentTarget.value);
                      setLimit(null);
                    },
                    children: windows.map(({ type }) => /* @__PURE__ */ a4("option", { children: type }, type))
                  }
                )
              ] }),
              start2?.limit && /* @__PURE__ */ a4("label", { children: [
                "Limit: ",
                start2.limit,
                /* @__PURE__ */ a4("input", { type: "number", min: 1, required: true, value: typed2, onInput: (event) => setLimit(event.currentTarget.value) })
              ] }),
              /* @__PURE__ */ a4("label", { children: [
                "Without entries",
                /* @__PURE__ */ a4("input", { type: "text", value: without, placeholder: "ids or versions", onInput: (event) => setWithout(event.currentTarget.value) })
              ] })
            ] }),
            /* @__PURE__ */ a4("label", { class: "wide", children: [
              "Config as JSON ",
              source.kind === "service" && "(replaces strategy and limit)",
              /* @__PURE__ */ a4("textarea", { rows: text ? 8 : 2, value: text, spellcheck: false, onInput: (event) => setText(event.currentTarget.value) })
            ] }),
            /* @__PURE__ */ a4("p", { class: "actions", children: [
              /* @__PURE__ */ a4("button", { type: "submit", class: "main", id: "try", disabled: running !== null, children: "Try it" }),
              running && /* @__PURE__ */ a4("button", { type: "button", onClick: () => running.abort(), children: "Cancel" })
            ] })
          ]
        }
      ),
      missing && /* @__PURE__ */ a4("div", { class: "why", children: [
        /* @__PURE__ */ a4("p", { children: missing }),
        /* @__PURE__ */ a4("button", { type: "button", onClick: () => submit("estimate"), children: "Estimate it" })
      ] }),
      running && /* @__PURE__ */ a4("p", { class: "muted", children: "Replaying the session…" }),
      answer && /* @__PURE__ */ a4(Answer, { answer }),
      /* @__PURE__ */ a4(Compare2, { at })
    ] });
  }
  function Answer({ answer }) {
    const recorded = shownWindow.value;
    return /* @__PURE__ */ a4($, { children: [
      /* @__PURE__ */ a4("p", { children: [
        answer.estimated && /* @__PURE__ */ a4("span", { class: "badge warn", children: "estimated" }),
        " ",
        /* @__PURE__ */ a4("code", { children: answer.strategy }),
        ": ",
        plural(answer.window.tokens, "token"),
        " shown,",
        " ",
        plural(answer.spent.compactions, "compaction"),
        ", ",
        plural(answer.spent.model_calls, "model call"),
        ", ",
        usd(answer.spent.cost_usd),
        "."
      ] }),
      answer.findings.map((each) => /* @__PURE__ */ a4("p", { class: "note", children: [
        /* @__PURE__ */ a4("code", { children: each.field }),
        " ",
        each.message
      ] }, each.field + each.code)),
      /* @__PURE__ */ a4(Compared, { found: answer.difference }),
      /* @__PURE__ */ a4("div", { class: "sides", children: [
        /* @__PURE__ */ a4("section", { class: "side", "aria-label": "As recorded", children: [
          /* @__PURE__ */ a4("h2", { children: [
            "As recorded",
            recorded ? `, ${count(recorded.tokens)} tokens` : ""
          ] }),
          recorded && /* @__PURE__ */ a4(Items, { window: recorded })
        ] }),
        /* @__PURE__ */ a4("section", { class: "side", "aria-label": "What if", children: [
          /* @__PURE__ */ a4("h2", { children: [
            "What if, ",
            count(answer.window.tokens),
            " tokens ",
            answer.estimated && /* @__PURE__ */ a4("span", { class: "badge warn", children: "estimated" })
          ] }),
          /* @__PURE__ */ a4(Items, { window: answer.window })
        ] })
      ] }),
      /* @__PURE__ */ a4(TakeIt, { config: answer.config, version: answer.version })
    ] });
  }
  function Compare2({ at }) {
    const key = session.value;
    const [rows, setRows] = d2(null);
    const [running, setRunning] = d2(null);
    if (!key) return null;
    const run2 = () => {
      const stop = new AbortController();
      setRunning(stop);
      source.presets().then(({ presets }) => source.trials(key, Object.fromEntries(presets.slice(0, 12).map((each) => [each.name, each.config])), at, stop.signal)).then(setRows, failed).finally(() => setRunning(null));
    };
    const most = Math.max(1, ...rows?.rows.map((each) => each.tokens ?? 0) ?? [], callAt(at)?.tokens ?? 0);
    return /* @__PURE__ */ a4("section", { "aria-label": "All presets", class: "trials", children: [
      /* @__PURE__ */ a4("h2", { children: "All presets on this session" }),
      /* @__PURE__ */ a4("p", { class: "actions", children: [
        /* @__PURE__ */ a4("button", { type: "button", onClick: run2, disabled: running !== null, children: "Compare them" }),
        running && /* @__PURE__ */ a4("button", { type: "button", onClick: () => running.abort(), children: "Cancel" })
      ] }),
      running && /* @__PURE__ */ a4("p", { class: "muted", children: "Replaying the session once for each preset…" }),
      rows && /* @__PURE__ */ a4("table", { class: "numbers bars", children: [
        /* @__PURE__ */ a4("thead", { children: /* @__PURE__ */ a4("tr", { children: [
          /* @__PURE__ */ a4("th", { scope: "col", children: "preset" }),
          /* @__PURE__ */ a4("th", { scope: "col", children: "tokens shown" }),
          /* @__PURE__ */ a4("th", { scope: "col", children: "compactions" }),
          /* @__PURE__ */ a4("th", { scope: "col", children: "model calls" }),
          /* @__PURE__ */ a4("th", { scope: "col", children: "cost" })
        ] }) }),
        /* @__PURE__ */ a4("tbody", { children: rows.rows.map((each) => /* @__PURE__ */ a4("tr", { children: [
          /* @__PURE__ */ a4("th", { scope: "row", children: each.config }),
          each.ok ? /* @__PURE__ */ a4($, { children: [
            /* @__PURE__ */ a4("td", { children: [
              /* @__PURE__ */ a4("span", { class: "bar-of", style: { width: `${60 * (each.tokens ?? 0) / most}%` } }),
              " ",
              count(each.tokens ?? 0)
            ] }),
            /* @__PURE__ */ a4("td", { children: count(each.compactions ?? 0) }),
            /* @__PURE__ */ a4("td", { children: count(each.calls ?? 0) }),
            /* @__PURE__ */ a4("td", { children: [
              usd(each.cost_usd ?? null),
              " ",
              each.estimated && /* @__PURE__ */ a4("span", { class: "badge warn", children: "estimated" })
            ] })
          ] }) : /* @__PURE__ */ a4("td", { colSpan: 4, children: each.problem })
        ] }, each.config)) })
      ] })
    ] });
  }

  // src/rebuild.tsx
  var NEWEST = /* @__PURE__ */ new Set(["rebuild_requested", "rebuilt", "rebuild_failed"]);
  function RebuildLine() {
    tick.value;
    const key = session.value;
    const known = columns.value;
    const asked3 = known?.marks.findLast((each) => NEWEST.has(each.type));
    const after = known?.marks.findLast((each) => each.type === "config" || each.type === "clear")?.version ?? 0;
    const isOpen = asked3 !== void 0 && (asked3.type === "rebuild_requested" || asked3.type === "rebuild_failed" && asked3.version > after);
    const found = useAnswer(key && isOpen ? (stop) => source.rebuild(key, stop) : null, [key?.id, isOpen, known?.version]);
    if (!found || found.status === "completed" || found.reason === "superseded") return null;
    const change2 = () => tryConfig(found.config);
    if (found.status === "failed") {
      return /* @__PURE__ */ a4("p", { class: "progress rebuild", role: "status", children: [
        /* @__PURE__ */ a4("span", { class: "badge warn", children: "rebuild failed" }),
        " ",
        found.detail || found.reason,
        ". The window is the old one."
      ] });
    }
    return /* @__PURE__ */ a4("p", { class: "progress rebuild", role: "status", children: [
      /* @__PURE__ */ a4("progress", { "aria-label": "Rebuilding the session", max: found.version, value: found.until }),
      /* @__PURE__ */ a4("span", { children: [
        "Being rebuilt under another config: version ",
        found.until,
        " of ",
        found.version,
        ", ",
        plural(found.summaries, "summary", "summaries"),
        " written",
        found.paused ? "; it waits for a worker" : "",
        ". Until it is completed, the window is the old one."
      ] }),
      /* @__PURE__ */ a4("button", { type: "button", onClick: change2, children: "What it will change" })
    ] });
  }
  function TakeIt({ config, version: version2 }) {
    const key = session.value;
    if (!key) return null;
    const text = JSON.stringify(config);
    const adopt = `memory-ledger adopt ${quoted(key.id)} --config config.json${namesOf(key)}`;
    return /* @__PURE__ */ a4($, { children: [
      /* @__PURE__ */ a4("h2", { children: "Take it" }),
      /* @__PURE__ */ a4("p", { class: "muted", children: "This page never writes. To change the session, save the config and run one of these: for the whole history (a rebuild, whose progress is then shown here), from the next message on, or in a fork." }),
      /* @__PURE__ */ a4(Copy, { text: `${adopt} --rebuild` }),
      /* @__PURE__ */ a4(Copy, { text: adopt }),
      /* @__PURE__ */ a4(Copy, { text: `memory-ledger fork ${quoted(key.id)} ${quoted(`${key.id}-try`)} --version ${version2}${namesOf(key)}` }),
      /* @__PURE__ */ a4(Copy, { text, label: "config.json" }),
      /* @__PURE__ */ a4("p", { class: "muted", children: "The rebuild as a request to the service, with a token that may write:" }),
      /* @__PURE__ */ a4(Copy, { text: request(key, config), label: "the request" })
    ] });
  }
  var quoted = (text) => `'${text.replace(/'/g, "'\\''")}'`;
  var namesOf = (key) => (key.user === null ? "" : ` --user ${quoted(key.user)}`) + (key.ns === null ? "" : ` --namespace ${quoted(key.ns)}`);
  function request(key, config) {
    const names = new URLSearchParams();
    if (key.ns !== null) names.set("namespace", key.ns);
    if (key.user !== null) names.set("user_id", key.user);
    const own = me.value;
    const isService = source.kind === "service" && own !== null && !(own.auth_mode === "none" && own.actor === "view");
    const path = `v1/sessions/${encodeURIComponent(key.id)}/config${names.size ? `?${names}` : ""}`;
    const address2 = isService ? quoted(new URL(`../${path}`, location.href).href) : `"$SERVICE_URL"/${quoted(path)}`;
    const token = own?.auth_mode === "none" && isService ? "" : ` -H "Authorization: Bearer $TOKEN"`;
    return `curl -X PUT ${address2}${token} -H 'Content-Type: application/json' -d ${quoted(JSON.stringify({ config, rebuild: true }))}`;
  }

  // src/session_screen.tsx
  var NAMES = {
    transcript: "Transcript",
    window: "Window",
    diff: "Diff",
    "what-if": "What-if",
    chart: "Chart",
    events: "Events",
    proof: "Proof",
    forks: "Forks"
  };
  var said = y3("");
  function move(to) {
    const known = columns.peek();
    if (to !== null && to !== void 0 && known) go({ v: Math.min(known.version, Math.max(1, to)) });
  }
  function turnFrom(way) {
    const known = columns.peek();
    return known ? nearest(known.turns, version.peek(), way) : null;
  }
  async function copyLink() {
    const pinned = { ...place.peek(), v: version.peek() };
    const done = await copyText(new URL(address(pinned), location.href).href);
    said.value = done ? "The link was copied." : "The browser did not allow copying.";
  }
  function useKeys() {
    A2(
      () => bind([
        { keys: ["ArrowLeft"], does: "version before", run: () => move(version.peek() - 1) },
        { keys: ["ArrowRight"], does: "version after", run: () => move(version.peek() + 1) },
        { keys: ["["], does: "compaction before", run: () => move(nearest(columns.peek()?.compactions() ?? [], version.peek(), -1)) },
        { keys: ["]"], does: "compaction after", run: () => move(nearest(columns.peek()?.compactions() ?? [], version.peek(), 1)) },
        { keys: ["{"], does: "turn before", run: () => move(turnFrom(-1)) },
        { keys: ["}"], does: "turn after", run: () => move(turnFrom(1)) },
        { keys: ["Home"], does: "first version", run: () => move(1) },
        { keys: ["End"], does: "newest version", run: () => go({ v: null }) },
        { keys: ["j"], does: "row below", run: () => step(1) },
        { keys: ["k"], does: "row above", run: () => step(-1) },
        { keys: ["Enter"], does: "open the row", run: () => document.querySelector(".pane pre")?.focus() },
        { keys: ["Escape"], does: "back to the list", run: () => back() },
        { keys: ["/"], does: "find in the session", run: () => document.getElementById("find")?.focus() },
        { keys: ["g"], does: "go to a version, turn (t47) or time", run: () => asked.value = "go" },
        { keys: ["y"], does: "why is it here, or not", run: () => why() },
        { keys: ["d"], does: "pin this version for a comparison", run: () => go({ a: version.peek(), tab: "diff" }) },
        { keys: ["w"], does: "what if", run: () => tryOut() },
        { keys: ["v"], does: "check the proof", run: () => prove() },
        { keys: ["f"], does: "follow the newest version", run: () => go({ v: place.peek().v === null ? version.peek() : null }) },
        { keys: ["c"], does: "copy a link to this version", run: () => void copyLink() },
        { keys: ["?"], does: "this list", run: () => asked.value = "help" }
      ]),
      []
    );
  }
  function back() {
    if (asked.peek()) asked.value = null;
    else if (foundVersions.peek()) foundVersions.value = null;
    else if (place.peek().sel) go({ sel: null });
    else if (place.peek().tab !== "transcript") go({ tab: "transcript" });
  }
  function why() {
    if (selectedVersion.peek() === null) step(-1);
    if (place.peek().tab !== "transcript") go({ tab: "transcript" });
    askedWhy.value++;
  }
  function tryOut() {
    go({ tab: "what-if" });
    setTimeout(() => document.getElementById("try")?.focus());
  }
  function prove() {
    go({ tab: "proof" });
    check();
  }
  function goTo(text) {
    const known = columns.peek();
    if (!known) return null;
    const turn = /^t\s*(\d+)$/i.exec(text.trim());
    if (turn) {
      const n3 = Number(turn[1]);
      if (n3 < 1 || n3 > known.turns.length) return `This session has ${plural(known.turns.length, "turn")}.`;
      const start2 = known.turns[n3 - 1];
      let row = known.rowOf(start2);
      while (row < known.size && known.turn[row] === n3 && !known.isAnswer(row)) row++;
      const answered = row < known.size && known.turn[row] === n3;
      const mark = known.marks.findLast(
        (each) => each.type === "context" && each.rendered_version !== null && each.rendered_version >= start2 && (!answered || each.rendered_version < known.added[row])
      );
      const at2 = mark?.rendered_version ?? (answered ? known.added[row] - 1 : Math.max(start2, known.version));
      go({ v: Math.max(start2, at2), tab: "window" });
      return null;
    }
    const number = /^v?\s*(\d+)$/i.exec(text.trim());
    if (number) {
      const at2 = Number(number[1]);
      if (at2 < 1 || at2 > known.version) return `There are versions 1 to ${count(known.version)}.`;
      go({ v: at2 });
      return null;
    }
    const moment = Date.parse(text.trim());
    if (Number.isNaN(moment)) return "Write a version (120), a turn (t47) or a time (2026-01-31 09:30).";
    const at = known.versionAt(moment);
    if (!at) return "The session began later.";
    go({ v: at });
    return null;
  }
  function SessionScreen() {
    useKeys();
    tick.value;
    const key = session.value;
    const known = columns.value;
    const { tab } = place.value;
    A2(() => {
      foundVersions.value = null;
    }, [key?.id, key?.ns, key?.user]);
    if (!key) return /* @__PURE__ */ a4("p", { class: "empty", children: "Choose a session." });
    return /* @__PURE__ */ a4("main", { class: "session", id: "main", children: [
      /* @__PURE__ */ a4(Head, {}),
      loading.value && /* @__PURE__ */ a4("p", { class: "progress", role: "status", children: [
        /* @__PURE__ */ a4("progress", { "aria-label": "Reading the session" }),
        " ",
        loading.value
      ] }),
      !known && !loading.value && /* @__PURE__ */ a4("p", { class: "empty", children: [
        "Nothing of this session could be read. Its name, its user or the namespace may be another.",
        " ",
        !inFile && /* @__PURE__ */ a4("a", { href: address(elsewhere("sessions")), onClick: (event) => link(event, elsewhere("sessions")), children: "All sessions" })
      ] }),
      known && /* @__PURE__ */ a4($, { children: [
        /* @__PURE__ */ a4(RebuildLine, {}),
        /* @__PURE__ */ a4(Lanes, {}),
        /* @__PURE__ */ a4(BudgetBar, {}),
        /* @__PURE__ */ a4(Tabs, {}),
        /* @__PURE__ */ a4("div", { class: `body tab-${tab}`, role: "tabpanel", id: "panel", "aria-label": NAMES[tab], children: [
          tab === "transcript" && /* @__PURE__ */ a4(Transcript, {}),
          tab === "window" && /* @__PURE__ */ a4(WindowTab, {}),
          tab === "diff" && /* @__PURE__ */ a4(DiffTab, {}),
          tab === "what-if" && /* @__PURE__ */ a4(WhatIfTab, {}, `${askedFor.value} ${place.value.id}`),
          tab === "chart" && /* @__PURE__ */ a4(ChartTab, {}),
          tab === "events" && /* @__PURE__ */ a4(EventsTab, {}),
          tab === "proof" && /* @__PURE__ */ a4(ProofTab, {}),
          tab === "forks" && /* @__PURE__ */ a4(ForksTab, {}),
          (tab === "transcript" || tab === "window" && place.value.sel !== null) && /* @__PURE__ */ a4(Pane, {})
        ] })
      ] }),
      /* @__PURE__ */ a4("p", { class: "sr", role: "status", children: said.value }),
      /* @__PURE__ */ a4(Help, { goTo })
    ] });
  }
  function Head() {
    tick.value;
    const key = session.value;
    const known = columns.value;
    const at = version.value;
    const sessions = elsewhere("sessions");
    const { word, ok } = verdictWord();
    return /* @__PURE__ */ a4("header", { class: "session-head", children: [
      /* @__PURE__ */ a4("p", { class: "print-address", children: [
        new URL(address({ ...place.value, v: at || null }), location.href).href,
        " · version ",
        at,
        " · ",
        word
      ] }),
      !inFile && /* @__PURE__ */ a4("a", { class: "back", href: address(sessions), onClick: (event) => link(event, sessions), "aria-label": "All sessions", children: "‹" }),
      /* @__PURE__ */ a4("h1", { children: /* @__PURE__ */ a4("bdi", { children: key?.id }) }),
      known && /* @__PURE__ */ a4($, { children: [
        /* @__PURE__ */ a4("button", { type: "button", class: "where quiet", title: "Go to a version, a turn or a time", onClick: () => asked.value = "go", children: [
          "v",
          at,
          "/",
          known.version,
          " · turn ",
          known.turnAt(at),
          /* @__PURE__ */ a4("span", { class: "muted time", children: [
            " ",
            when(known.timeAt(at))
          ] })
        ] }),
        /* @__PURE__ */ a4("button", { type: "button", class: `badge ${ok === true ? "ok" : ok === false ? "bad" : ""}`, onClick: prove, children: word }),
        /* @__PURE__ */ a4(Find, {}),
        /* @__PURE__ */ a4("button", { type: "button", class: "quiet", onClick: () => void copyLink(), children: "Copy link" }),
        /* @__PURE__ */ a4("button", { type: "button", class: "quiet", "aria-label": "Keys and help", onClick: () => asked.value = "help", children: "?" })
      ] })
    ] });
  }
  function Find() {
    const [text, setText] = d2("");
    const [at, setAt] = d2(0);
    const field = T2(null);
    const found = foundVersions.value;
    const key = session.value;
    A2(() => {
      if (found === null) setAt(0);
    }, [found]);
    const search = async () => {
      if (!key || !text.trim()) {
        foundVersions.value = null;
        return;
      }
      const all = [];
      let after = 0;
      try {
        while (after !== null && all.length < 5e3) {
          const page = await source.find(key, text, version.peek(), after);
          all.push(...page.matches.filter((each) => each.entry_id !== null).map((each) => each.version));
          after = page.next_after;
        }
        foundVersions.value = all;
        setAt(0);
        if (all.length) go({ sel: `e${all[0]}`, tab: "transcript" });
        field.current?.blur();
      } catch (fault) {
        failed(fault);
      }
    };
    const next = (way) => {
      if (!found?.length) return;
      const to = (at + way + found.length) % found.length;
      setAt(to);
      go({ sel: `e${found[to]}`, tab: "transcript" });
    };
    return /* @__PURE__ */ a4(
      "form",
      {
        class: "find",
        role: "search",
        onSubmit: (event) => {
          event.preventDefault();
          void search();
        },
        children: [
          /* @__PURE__ */ a4(
            "input",
            {
              id: "find",
              ref: field,
              type: "search",
              value: text,
              placeholder: "find /",
              "aria-label": "Find in this session",
              onInput: (event) => {
                setText(event.currentTarget.value);
                if (!event.currentTarget.value) foundVersions.value = null;
              }
            }
          ),
          found && /* @__PURE__ */ a4($, { children: [
            /* @__PURE__ */ a4("span", { role: "status", children: found.length ? `${at + 1} of ${count(found.length)}` : "not found" }),
            /* @__PURE__ */ a4("button", { type: "button", "aria-label": "Match before", onClick: () => next(-1), disabled: !found.length, children: "↑" }),
            /* @__PURE__ */ a4("button", { type: "button", "aria-label": "Next match", onClick: () => next(1), disabled: !found.length, children: "↓" })
          ] })
        ]
      }
    );
  }
  function Tabs() {
    const { tab } = place.value;
    const keys = (event) => {
      const way = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
      if (!way) return;
      event.preventDefault();
      event.stopPropagation();
      const to = TABS[(TABS.indexOf(tab) + way + TABS.length) % TABS.length];
      go({ tab: to });
      document.getElementById(`tab-${to}`)?.focus();
    };
    return /* @__PURE__ */ a4("div", { class: "tabs", role: "tablist", "aria-label": "Views", onKeyDown: keys, children: TABS.map((each) => /* @__PURE__ */ a4(
      "button",
      {
        type: "button",
        role: "tab",
        id: `tab-${each}`,
        "aria-selected": tab === each,
        "aria-controls": "panel",
        tabIndex: tab === each ? 0 : -1,
        onClick: () => go({ tab: each, typed: "" }),
        children: NAMES[each]
      },
      each
    )) });
  }

  // src/sessions_screen.tsx
  function stored() {
    const found = new URLSearchParams(place.peek().typed);
    const of = (name) => found.get(name) ?? "";
    return { q: of("q"), user: of("user"), status: of("status"), after: of("after"), before: of("before") };
  }
  function SessionsScreen() {
    const { ns } = place.value;
    const [filter, setFilter] = d2(stored);
    const [rows, setRows] = d2(null);
    const [cursor, setCursor] = d2(null);
    const read2 = (after, known, stop) => source.sessions(
      {
        namespace: ns,
        q: filter.q.trim(),
        user_id: filter.user.trim(),
        status: filter.status,
        updated_after: filter.after && `${filter.after}T00:00:00Z`,
        updated_before: filter.before && `${filter.before}T23:59:59Z`,
        cursor: after,
        limit: 50
      },
      stop
    ).then((page) => {
      if (stop?.aborted) return;
      setRows([...known, ...page.sessions]);
      setCursor(page.next_cursor);
    }, failed);
    A2(() => {
      const stop = new AbortController();
      const wait = setTimeout(() => void read2(null, [], stop.signal), 150);
      return () => {
        clearTimeout(wait);
        stop.abort();
      };
    }, [ns, JSON.stringify(filter)]);
    const change2 = (part) => {
      const to = { ...filter, ...part };
      setFilter(to);
      go({ typed: new URLSearchParams(Object.entries(to).filter(([, value]) => value)).toString() });
    };
    const filtered = Object.values(filter).some(Boolean);
    return /* @__PURE__ */ a4("main", { class: "sessions", id: "main", children: [
      /* @__PURE__ */ a4("h1", { children: "Sessions" }),
      /* @__PURE__ */ a4("form", { class: "filters", role: "search", onSubmit: (event) => event.preventDefault(), children: [
        /* @__PURE__ */ a4("label", { children: [
          "Part of the id ",
          /* @__PURE__ */ a4("input", { type: "search", value: filter.q, onInput: (event) => change2({ q: event.currentTarget.value }) })
        ] }),
        /* @__PURE__ */ a4("label", { children: [
          "User ",
          /* @__PURE__ */ a4("input", { type: "search", value: filter.user, onInput: (event) => change2({ user: event.currentTarget.value }) })
        ] }),
        /* @__PURE__ */ a4("label", { children: [
          "Status",
          " ",
          /* @__PURE__ */ a4("select", { value: filter.status, onChange: (event) => change2({ status: event.currentTarget.value }), children: [
            /* @__PURE__ */ a4("option", { value: "", children: "all" }),
            /* @__PURE__ */ a4("option", { children: "live" }),
            /* @__PURE__ */ a4("option", { children: "expired" }),
            /* @__PURE__ */ a4("option", { children: "ended" })
          ] })
        ] }),
        /* @__PURE__ */ a4("label", { children: [
          "From ",
          /* @__PURE__ */ a4("input", { type: "date", value: filter.after, onChange: (event) => change2({ after: event.currentTarget.value }) })
        ] }),
        /* @__PURE__ */ a4("label", { children: [
          "To ",
          /* @__PURE__ */ a4("input", { type: "date", value: filter.before, onChange: (event) => change2({ before: event.currentTarget.value }) })
        ] })
      ] }),
      rows === null && /* @__PURE__ */ a4("p", { class: "muted", children: "Reading the list…" }),
      rows?.length === 0 && /* @__PURE__ */ a4("p", { class: "empty", children: filtered ? "No session matches. Clear a filter, or search the contents." : /* @__PURE__ */ a4($, { children: [
        "Nothing is recorded in the namespace ",
        ns ?? me.value?.home ?? "",
        " yet. ",
        /* @__PURE__ */ a4("code", { children: "memory-ledger demo" }),
        " records a long session,",
        " ",
        /* @__PURE__ */ a4("code", { children: "memory-ledger import FILE" }),
        " a transcript of yours."
      ] }) }),
      rows !== null && rows.length > 0 && /* @__PURE__ */ a4("div", { class: "scroll", tabIndex: 0, role: "group", "aria-label": "Sessions", children: /* @__PURE__ */ a4("table", { class: "list", children: [
        /* @__PURE__ */ a4("thead", { children: /* @__PURE__ */ a4("tr", { children: [
          /* @__PURE__ */ a4("th", { scope: "col", children: "session" }),
          /* @__PURE__ */ a4("th", { scope: "col", children: "user" }),
          /* @__PURE__ */ a4("th", { scope: "col", children: "status" }),
          /* @__PURE__ */ a4("th", { scope: "col", class: "number", children: "version" }),
          /* @__PURE__ */ a4("th", { scope: "col", class: "number", children: "entries" }),
          /* @__PURE__ */ a4("th", { scope: "col", class: "number", children: "tokens kept" }),
          /* @__PURE__ */ a4("th", { scope: "col", children: "updated" }),
          /* @__PURE__ */ a4("th", { scope: "col", children: "forked from" })
        ] }) }),
        /* @__PURE__ */ a4("tbody", { children: rows.map((each) => /* @__PURE__ */ a4(Row2, { row: each }, `${each.user_id}/${each.session_id}`)) })
      ] }) }),
      cursor && rows && /* @__PURE__ */ a4("p", { children: /* @__PURE__ */ a4("button", { type: "button", onClick: () => void read2(cursor, rows), children: "Show more" }) })
    ] });
  }
  function Row2({ row }) {
    const to = elsewhere("session", { id: row.session_id, user: row.user_id });
    const parent = row.forked_from && elsewhere("session", { id: row.forked_from.session_id, user: row.forked_from.user_id, v: row.forked_from.version });
    return /* @__PURE__ */ a4("tr", { children: [
      /* @__PURE__ */ a4("th", { scope: "row", children: /* @__PURE__ */ a4("a", { href: address(to), onClick: (event) => link(event, to), children: /* @__PURE__ */ a4("bdi", { children: row.session_id }) }) }),
      /* @__PURE__ */ a4("td", { children: /* @__PURE__ */ a4("bdi", { children: row.user_id ?? "" }) }),
      /* @__PURE__ */ a4("td", { children: /* @__PURE__ */ a4("span", { class: `status ${row.status}`, children: row.status }) }),
      /* @__PURE__ */ a4("td", { class: "number", children: count(row.version) }),
      /* @__PURE__ */ a4("td", { class: "number", children: count(row.entries) }),
      /* @__PURE__ */ a4("td", { class: "number", children: count(row.total_tokens) }),
      /* @__PURE__ */ a4("td", { children: when(row.updated_at) }),
      /* @__PURE__ */ a4("td", { children: parent && row.forked_from && /* @__PURE__ */ a4("a", { href: address(parent), onClick: (event) => link(event, parent), children: [
        /* @__PURE__ */ a4("bdi", { children: row.forked_from.session_id }),
        " v",
        row.forked_from.version
      ] }) })
    ] });
  }

  // src/main.tsx
  var SCREENS2 = [
    ["sessions", "Sessions"],
    ["search", "Search"],
    ["records", "Memory"],
    ["backtests", "Backtests"]
  ];
  function App() {
    const { screen } = place.value;
    const unknown = problem.value?.status === 401;
    const greeting = me.value === null && problem.value === null;
    return /* @__PURE__ */ a4($, { children: [
      /* @__PURE__ */ a4("a", { class: "skip", href: "#main", onClick: (event) => focusMain(event), children: "Skip to the content" }),
      /* @__PURE__ */ a4(Bar, {}),
      problem.value && !unknown && /* @__PURE__ */ a4("p", { class: "problem", role: "alert", children: [
        problem.value.message,
        " ",
        /* @__PURE__ */ a4("button", { type: "button", onClick: () => problem.value = null, children: "Close" })
      ] }),
      indexAge.value && !unknown && screen !== "session" && /* @__PURE__ */ a4("p", { class: "note", role: "status", children: [
        "This may lack what is newest: ",
        indexAge.value,
        "."
      ] }),
      greeting ? /* @__PURE__ */ a4("main", { id: "main", children: /* @__PURE__ */ a4("p", { class: "muted", children: "Opening…" }) }) : unknown || screen === "login" ? /* @__PURE__ */ a4(Login, {}) : screen === "session" ? /* @__PURE__ */ a4($, { children: [
        /* @__PURE__ */ a4(SessionScreen, {}),
        session.value && /* @__PURE__ */ a4(Tour, {})
      ] }) : screen === "search" ? /* @__PURE__ */ a4(SearchScreen, {}) : screen === "records" ? /* @__PURE__ */ a4(RecordsScreen, {}) : screen === "backtests" ? /* @__PURE__ */ a4(BacktestsScreen, {}) : /* @__PURE__ */ a4(SessionsScreen, {})
    ] });
  }
  function focusMain(event) {
    event.preventDefault();
    const main = document.getElementById("main");
    main?.setAttribute("tabindex", "-1");
    main?.focus();
  }
  function Bar() {
    return /* @__PURE__ */ a4("nav", { class: "top", "aria-label": "Main", children: [
      /* @__PURE__ */ a4("b", { class: "brand", children: "Memory Ledger" }),
      !inFile && SCREENS2.map(([screen, name]) => {
        const to = elsewhere(screen);
        return /* @__PURE__ */ a4("a", { href: address(to), "aria-current": place.value.screen === screen ? "page" : void 0, onClick: (event) => link(event, to), children: name }, screen);
      }),
      /* @__PURE__ */ a4("span", { class: "spring" }),
      !inFile && /* @__PURE__ */ a4(Namespace, {}),
      /* @__PURE__ */ a4("label", { class: "scheme", children: [
        /* @__PURE__ */ a4("span", { class: "sr", children: "Colours" }),
        /* @__PURE__ */ a4("select", { value: scheme.value, onChange: (event) => scheme.value = event.currentTarget.value, children: [
          /* @__PURE__ */ a4("option", { value: "system", children: "system" }),
          /* @__PURE__ */ a4("option", { value: "light", children: "light" }),
          /* @__PURE__ */ a4("option", { value: "dark", children: "dark" })
        ] })
      ] }),
      me.value && me.value.auth_mode !== "none" && !inFile && /* @__PURE__ */ a4("button", { type: "button", class: "quiet", onClick: () => void source.logout().then(() => location.reload()), children: "Log out" })
    ] });
  }
  function Namespace() {
    const known = me.value?.namespaces;
    const now = place.value.ns ?? me.value?.home ?? "";
    const [text, setText] = d2(null);
    const choose = (name) => correct({ ...elsewhere("sessions"), ns: name || null });
    if (known && known.length === 1) return /* @__PURE__ */ a4("span", { class: "muted", children: known[0] });
    if (known) {
      return /* @__PURE__ */ a4("label", { children: [
        /* @__PURE__ */ a4("span", { class: "sr", children: "Namespace" }),
        /* @__PURE__ */ a4("select", { value: now, onChange: (event) => choose(event.currentTarget.value), children: known.map((name) => /* @__PURE__ */ a4("option", { children: name }, name)) })
      ] });
    }
    return /* @__PURE__ */ a4(
      "form",
      {
        class: "namespace",
        onSubmit: (event) => {
          event.preventDefault();
          choose((text ?? now).trim());
        },
        children: /* @__PURE__ */ a4("label", { children: [
          /* @__PURE__ */ a4("span", { class: "sr", children: "Namespace" }),
          /* @__PURE__ */ a4("input", { type: "text", size: 12, value: text ?? now, "aria-label": "Namespace", onInput: (event) => setText(event.currentTarget.value) })
        ] })
      }
    );
  }
  function Login() {
    const [token, setToken] = d2("");
    const [wrong, setWrong] = d2(null);
    return /* @__PURE__ */ a4("main", { class: "login", id: "main", children: [
      /* @__PURE__ */ a4("h1", { children: "Log in" }),
      /* @__PURE__ */ a4("p", { children: "Paste a token of this service, or a JWT. The page only reads; a cookie keeps a signed permission for at most 12 hours, never the token." }),
      /* @__PURE__ */ a4(
        "form",
        {
          onSubmit: (event) => {
            event.preventDefault();
            source.login({ token: token.trim() }).then(
              () => {
                setToken("");
                void greet();
                if (place.peek().screen === "login") correct(elsewhere("sessions"));
              },
              (fault) => setWrong(fault.message)
            );
          },
          children: [
            /* @__PURE__ */ a4("label", { children: [
              "Token ",
              /* @__PURE__ */ a4("input", { type: "password", autocomplete: "off", value: token, onInput: (event) => setToken(event.currentTarget.value) })
            ] }),
            " ",
            /* @__PURE__ */ a4("button", { type: "submit", class: "main", disabled: !token.trim(), children: "Log in" }),
            wrong && /* @__PURE__ */ a4("p", { class: "warn", role: "alert", children: wrong })
          ]
        }
      )
    ] });
  }
  x2(() => {
    const name = session.value ? `${session.value.id} v${version.value}` : SCREENS2.find(([screen]) => screen === place.value.screen)?.[1] ?? "Log in";
    document.title = `${name} · Memory Ledger`;
  });
  async function start() {
    const key = /^#key=([A-Za-z0-9_-]+)$/.exec(location.hash)?.[1];
    if (key && !inFile) correct({ typed: "" });
    Q(/* @__PURE__ */ a4(App, {}), document.getElementById("app"));
    if (key && !inFile) await source.login({ key }).catch(() => {
    });
    await greet();
    watch();
  }
  void start();
})();
