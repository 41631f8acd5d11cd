<<<<<<<< HEAD:src/vaultbridge/web/static/graph-EAJF363H.js
import{k as t,n as r,v as e}from"./chunk-53CAZLUS.js";import"./chunk-OOJM4CTU.js";function o(p){return e("Graph"),t(r,{icon:"graph",title:"Graph"})}export{o as default};
========
import{j as t,m as r,u as e}from"./chunk-TLG6UIWH.js";import"./chunk-OOJM4CTU.js";function o(p){return e("Graph"),t(r,{icon:"graph",title:"Graph"})}export{o as default};
>>>>>>>> c12004b (Let no note claim lines that are not its own):src/vaultbridge/web/static/graph-5QVUJLIR.js
