import{h as t,k as i,r as e}from"./chunk-6D2VLWLS.js";function o(r){return e("Activity"),t(i,{icon:"activity",title:"Activity"})}export{o as default};
